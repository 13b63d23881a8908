package rollout

import (
	"context"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// WithConnection returns an executor that completes the connections of nodes: what they leave open is that of own. It
// is for a process that has the credentials of nodes whose connections come from elsewhere.
func WithConnection(e Executor, own site.Connection) Executor { return connecting{e, own} }

type connecting struct {
	Executor
	own site.Connection
}

// Converge implements [Executor].
func (c connecting) Converge(ctx context.Context, node site.Node, m converge.Manifest,
	each func(converge.Result)) (converge.Summary, error) {
	node.Connection = node.Connection.Over(c.own)
	return c.Executor.Converge(ctx, node, m, each)
}
