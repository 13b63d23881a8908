package engine_test

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// nodes is an executor whose nodes do everything at once, but for one on which everything fails.
type nodes struct {
	fails   string
	applied func() // called when something is applied
	ledgers map[string]map[resource.ID]string
}

func (nodes) Close() error { return nil }

func (f nodes) Converge(_ context.Context, n site.Node, c converge.Manifest,
	each func(converge.Result)) (converge.Summary, error) {
	ledger := f.ledgers[n.Name]
	for _, item := range c.Items {
		if c.Mode != converge.Apply {
			continue
		}
		f.applied()
		if n.Name == f.fails {
			each(converge.Result{ID: item.ID(), Status: converge.Failed, Message: "the disk is full; `report` shows more of it"})
			continue
		}
		each(converge.Result{ID: item.ID(), Status: converge.Changed, Millis: 1})
		ledger[item.ID()] = item.Digest
	}
	return converge.Summary{Protocol: converge.Protocol, Ledger: ledger}, nil
}

func (nodes) Call(context.Context, io.Writer, task.Task) (map[string]any, error) { return nil, nil }

// An apply runs what is planned, remembers what is applied, and says how it ended, in its outcome and in the journal.
func TestApply(t *testing.T) {
	s := site.Site{Name: "s", Nodes: []site.Node{{Name: "a", Address: "192.0.2.1"}, {Name: "b", Address: "192.0.2.2"}},
		Groups: []site.Group{{Name: "g", Critical: true, SuccessCriteria: &site.SuccessCriteria{MaximumFailedNodes: new(int)}}},
		Services: []site.Service{{Name: "motd",
			Configuration: resource.Configuration{"file": {"/etc/motd": {"content": "hi\n"}, "/etc/issue": {"content": "ho\n"}}}}}}
	for name, tt := range map[string]struct {
		fails     string
		cancelled bool
		status    engine.Status
		nodes     map[string]string
		remembers []string // nodes on which anything is applied
		message   string
		journal   string
	}{
		"success": {status: engine.Deployed, nodes: map[string]string{"a": "DEPLOYED", "b": "DEPLOYED"},
			remembers: []string{"a", "b"}, journal: "succeeded"},
		"failed node": {fails: "b", status: engine.Failed, nodes: map[string]string{"a": "DEPLOYED", "b": "FAILED"},
			remembers: []string{"a"}, message: "The site was not rolled out", journal: "failed"},
		"cancelled": {cancelled: true, status: engine.Interrupted, message: "The run was interrupted", journal: "interrupted"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			f := nodes{fails: tt.fails, applied: func() {
				if tt.cancelled {
					cancel()
				}
			}, ledgers: map[string]map[resource.ID]string{"a": {}, "b": {}}}
			directory := journal.Location{Path: t.TempDir()}
			e := &engine.Engine{Journals: directory, Executor: func() rollout.Executor { return f }, Caller: f, Now: time.Now}
			var lines []string
			e.Log = func(_ context.Context, line string, about ...any) {
				lines = append(lines, strings.TrimSpace(fmt.Sprintln(append([]any{line}, about...)...)))
			}
			out := e.Apply(ctx, nil, s, engine.Run{Parallelism: 1})
			if out.Status != tt.status {
				t.Errorf("status %q: %v", out.Status, out.Messages)
			}
			if d := cmp.Diff(tt.nodes, out.Nodes); tt.nodes != nil && d != "" {
				t.Errorf("nodes (-want +got):\n%s", d)
			}
			for _, node := range tt.remembers {
				if d := cmp.Diff(f.ledgers[node], out.State.Applied[node]); d != "" || len(f.ledgers[node]) != 2 {
					t.Errorf("applied on %s (-ledger +state):\n%s", node, d)
				}
			}
			says := slices.ContainsFunc(out.Messages, func(e error) bool { return strings.HasPrefix(e.Error(), tt.message) })
			if tt.message == "" && len(out.Messages) > 0 || tt.message != "" && (!says || !out.Failed()) {
				t.Errorf("messages: %v", out.Messages)
			}
			store, err := directory.OpenExisting(t.Context(), "s")
			if err != nil {
				t.Fatal(err)
			}
			run, err := store.Run(t.Context(), "")
			if err != nil || run.Status != tt.journal || len(run.Steps) == 0 {
				t.Errorf("the journal has %+v, %v", run, err)
			}
			ids := fmt.Sprintf("run_id %s trace_id %s site s", run.ID, strings.ReplaceAll(run.ID, "-", ""))
			if n := len(lines); n < 2 || lines[0] != "run started "+ids+" operation create" ||
				lines[n-1] != "run ended "+ids+" status "+tt.journal {
				t.Errorf("logged %q", lines)
			}
			failed := slices.ContainsFunc(lines, func(l string) bool {
				return strings.HasPrefix(l, "task failed "+ids+" group g node b task file[/etc/issue] reason the disk is full")
			})
			if failed != (tt.fails != "") {
				t.Errorf("logged %q", lines)
			}
			hint := "`terraform-provider-slipway report " + run.ID + "` shows more of it"
			named := slices.ContainsFunc(out.Messages, func(e error) bool { return strings.Contains(e.Error(), hint) })
			if tt.fails != "" && !named {
				t.Errorf("no %q in: %v", hint, out.Messages)
			}
			if err := store.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// What was not shown is not done.
func TestApplyRefusesAnotherPlan(t *testing.T) {
	f := nodes{applied: func() { t.Error("something is applied") }}
	e := &engine.Engine{Journals: journal.Location{Path: t.TempDir()}, Executor: func() rollout.Executor { return f },
		Caller: f, Now: time.Now}
	out := e.Apply(t.Context(), nil, parse(t, "name: a, entity: web, attributes: {name: a}"), engine.Run{Digest: "another"})
	if out.Status != "" || len(out.Messages) != 1 || !strings.Contains(out.Messages[0].Error(), "The plan is stale") {
		t.Errorf("got %q, %v", out.Status, out.Messages)
	}
}
