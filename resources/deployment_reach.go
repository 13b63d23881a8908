package resources

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// reachedOtherwise warns of nodes that could not be checked at the refresh and that the apply reaches through another
// connection.
func reachedOtherwise(prior deploymentModelV1, w *engine.Planned) (diags diag.Diagnostics) {
	before := make(map[string]site.Node, len(w.Before))
	for _, n := range w.Before {
		before[n.Name] = n
	}
	var lines []string
	for _, n := range w.Site.Nodes {
		old, known := before[n.Name]
		silent := slices.ContainsFunc(prior.Unreachable.Elements(), types.StringValue(n.Name).Equal)
		if !silent || !known || old.Address == n.Address && reflect.DeepEqual(old.Connection, n.Connection) {
			continue
		}
		is, was := way(n), way(old)
		if is == was {
			lines = append(lines, fmt.Sprintf("%s: %s, with other settings", n.Name, is))
			continue
		}
		lines = append(lines, fmt.Sprintf("%s: %s, was %s", n.Name, is, was))
	}
	if len(lines) > 0 {
		diags.AddWarning(fmt.Sprintf("Nodes that could not be checked are reached otherwise: %d", len(lines)),
			"Their connections were changed since the last apply. The plan counts on the nodes being as they were left; the apply and the next refresh use the new connections.\n"+strings.Join(engine.FirstLines(lines), "\n"))
	}
	return diags
}

// way says how a node is reached, without any secret.
func way(n site.Node) string {
	if c := n.Connection; c.Transport != "local" && c.User != "" {
		return c.User + "@" + n.Place()
	}
	return n.Place()
}
