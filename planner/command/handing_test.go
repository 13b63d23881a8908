package command

import (
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/encryption"
	"github.com/slipway/terraform-provider-slipway/planner/engine"
)

// What keeps a run from being handed over is named as the companion has it, also where the server says it.
func TestHandOverNamesFlags(t *testing.T) {
	t.Setenv("SLIPWAY_KEY", encryption.New())
	f := runFlags{journal: journalFlags{url: "postgres://slipway@db.example.org/slipway"},
		temporal: temporalFlags{address: "127.0.0.1:1"}}
	var e engine.Engine
	if err := f.handOver(&e); err != nil {
		t.Fatal(err)
	}
	const want = `--temporal: the Temporal server at "127.0.0.1:1" does not answer`
	if err := e.Handing.Ready(t.Context()); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("the error says %v, want %s", err, want)
	}
}
