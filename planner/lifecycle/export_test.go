package lifecycle

import (
	"fmt"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
)

// Exhausted is the error of [Pick] for a pool without a free value.
type Exhausted struct{ Size string }

func (e *Exhausted) Error() string { return "all of " + e.Size + " values are in use" }

// Pick chooses one value of a pool that is none of those in use. The seed is what a pool that derives makes it from.
// The error is an [*Exhausted], or one of a definition that catalog.Resolve refuses.
func Pick(definition catalog.Pool, seed string, used []any) (any, error) {
	p, err := newPool(definition)
	if err != nil {
		return nil, fmt.Errorf("pool %q: %w", definition.Name, err)
	}
	var spans []span
	for _, value := range used {
		if b, ok := p.read(value); ok {
			spans = append(spans, spanOf(b))
		}
	}
	within, b, ok := p.pick(seed, union(spans))
	if !ok {
		return nil, &Exhausted{p.size().String()}
	}
	return p.write(within, b, false), nil
}
