package document

import (
	"reflect"

	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// ParseSelectors reads a list of selectors. The error is of type [invalid.Errors]; labels are not checked.
func ParseSelectors(source Source) (site.Selectors, error) {
	r := &reader{file: source.Name}
	var out site.Selectors
	if n, ok := r.only(source.Data, "write a list of selectors, [] for all nodes"); ok {
		r.intoField(reflect.ValueOf(&out).Elem(), "some=a selector")(n, "")
	}
	return out, r.result()
}
