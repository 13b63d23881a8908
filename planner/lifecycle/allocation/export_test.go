package allocation

import (
	"fmt"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
)

// Pick chooses one value of a pool that is none of those in use. The seed is what a pool that derives makes it from.
// The error is an [*Exhausted], or one of a definition that catalog.Resolve refuses.
func Pick(definition catalog.Pool, seed string, used []any) (any, error) {
	p, err := newPool(definition)
	if err != nil {
		return nil, fmt.Errorf("pool %q: %w", definition.Name, err)
	}
	var spans [families][]span
	for _, value := range used {
		if at, ok := p.read(value); ok {
			spans[at.family] = append(spans[at.family], at.span())
		}
	}
	var taken [families]ranges
	for f := range spans {
		taken[f] = of(spans[f])
	}
	l, at, ok := p.pick(seed, &taken)
	if !ok {
		return nil, &Exhausted{Pool: definition.Name, Size: p.size().String()}
	}
	return p.write(l, at, false), nil
}
