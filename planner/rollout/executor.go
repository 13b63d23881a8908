package rollout

import (
	"context"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// Executor runs catalogs on nodes. [InProcess] does so in this process.
type Executor interface {
	// Converge runs one catalog on one node and calls each for every result, in the order in which they arrive and
	// never concurrently for one call; those that are [converge.Printing] come while an item is at work. It is called for
	// many nodes at once, and for one node once at a time.
	//
	// A nil error means that the session ran to its end and that the summary is whole; items may have failed. An error
	// is a *converge.SessionError or a *transport.Error and means that items without a result are in an unknown state.
	// When ctx ends, the running item is given up and Converge returns within a short grace.
	//
	// A catalog may restart the node: Converge goes on when the node is back, and no result that it gives is
	// [converge.Restarting]. A result that is Guarded is not the last one of its item: it waits for its confirmation.
	Converge(ctx context.Context, node site.Node, catalog converge.Manifest,
		each func(converge.Result)) (converge.Summary, error)
	// Close ends all connections.
	Close() error
}

// Zoned is an [Executor] that may have the nodes of each zone reached from there. Each zone then has places of its own
// in a [Survey], and nodes of one that nobody reaches keep none from the others.
type Zoned interface {
	// Zoned reports whether it does.
	Zoned() bool
}
