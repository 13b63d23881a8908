package document

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"github.com/slipway/terraform-provider-slipway/planner/lifecycle"
)

//go:embed lifecycles.yaml
var shippedText []byte

// shipped reads the lifecycles that ship with slipway. The tests prove that they are valid.
var shipped = sync.OnceValue(func() []lifecycle.Lifecycle {
	all, errs := readLifecycles([]Source{{Name: "lifecycles.yaml", Data: shippedText}})
	if len(errs) > 0 {
		panic(errs)
	}
	slices.SortFunc(all.Lifecycles, func(a, b lifecycle.Lifecycle) int { return strings.Compare(a.Name, b.Name) })
	return all.Lifecycles
})

// ShippedLifecycles returns the shipped lifecycles, sorted by name. The result must not be changed.
func ShippedLifecycles() []lifecycle.Lifecycle { return slices.Clone(shipped()) }

// ShippedLifecycle returns a shipped lifecycle by its name. The result must not be changed.
func ShippedLifecycle(name string) (lifecycle.Lifecycle, bool) {
	for _, l := range shipped() {
		if l.Name == name {
			return l, true
		}
	}
	return lifecycle.Lifecycle{}, false
}
