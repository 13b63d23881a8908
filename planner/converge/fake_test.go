package converge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/converge/ledger"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// fake is a type whose resources are files in /fake: the title is the name and `value` the content. `fail` makes Apply fail
// with that text, and `deaf` makes it do nothing.
type fake struct {
	name string
	log  *[]string
	// hook is called before and after everything that the engine asks for; an error is what the type answers.
	hook func(stage, title string) error
}

func (f fake) at(stage, title string) error {
	if stage == "apply" || stage == "undo" || stage == "refresh" || stage == "batch" || stage == "prefetch" {
		*f.log = append(*f.log, stage+" "+title)
	}
	if f.hook == nil {
		return nil
	}
	return f.hook(stage, title)
}

func (f fake) Schema() resource.Schema {
	return resource.Schema{Type: f.name, Parameters: []resource.Parameter{
		{Name: "value", Kind: resource.String}, {Name: "fail", Kind: resource.String}, {Name: "deaf", Kind: resource.Bool},
		{Name: "secret", Kind: resource.String, Sensitive: true}, {Name: "number", Kind: resource.Integer},
	}, NeedsMachine: f.name == "whole"}
}

func (f fake) path(title string) string { return "/fake/" + f.name + "-" + title }

func (f fake) Check(ctx context.Context, s *types.Session, r resource.Resource) ([]types.Difference, error) {
	if err := errors.Join(f.at("check", r.Title), ctx.Err()); err != nil {
		return nil, err
	}
	is, err := s.ReadFile(f.path(r.Title))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	parameter := "value"
	if r.Parameters.Has("secret") {
		parameter = "secret"
	}
	should := r.Parameters.String(parameter)
	if err == nil && string(is) == should {
		return nil, nil
	}
	return []types.Difference{{Parameter: parameter, Is: string(is), Should: should}}, nil
}

type fakeBefore struct{ There, Value string }

func (f fake) Capture(_ context.Context, s *types.Session, r resource.Resource) (json.RawMessage, error) {
	if err := f.at("capture", r.Title); err != nil {
		return nil, err
	}
	is, err := s.ReadFile(f.path(r.Title))
	if errors.Is(err, fs.ErrNotExist) {
		return json.Marshal(fakeBefore{})
	}
	if err != nil {
		return nil, err
	}
	kept, _, err := s.Keep(f.path(r.Title))
	if err != nil {
		return nil, err
	}
	return json.Marshal(fakeBefore{kept, string(is)})
}

func (f fake) Apply(_ context.Context, s *types.Session, r resource.Resource) error {
	if err := f.at("apply", r.Title); err != nil {
		return err
	}
	return errors.Join(f.write(s, r), f.at("applied", r.Title))
}

func (f fake) write(s *types.Session, r resource.Resource) error {
	p := r.Parameters
	if p.Has("fail") {
		return errors.New(p.String("fail"))
	}
	if p.Bool("deaf") {
		return nil
	}
	return s.WriteFile(f.path(r.Title), []byte(p.StringOr("secret", p.String("value"))), system.Attributes{})
}

func (f fake) Undo(_ context.Context, s *types.Session, title string, before json.RawMessage) error {
	if err := f.at("undo", title); err != nil {
		return err
	}
	var b fakeBefore
	if err := json.Unmarshal(before, &b); err != nil {
		return err
	}
	var err error
	if b.There == "" {
		err = s.Remove(f.path(title))
	} else {
		err = s.Restore(b.There, f.path(title), nil)
	}
	return errors.Join(err, f.at("undone", title))
}

type refreshed struct{ fake }

func (f refreshed) Refresh(_ context.Context, s *types.Session, r resource.Resource) error {
	return f.at("refresh", r.Title)
}

type batched struct{ fake }

func (f batched) ApplyBatch(_ context.Context, s *types.Session, rs []resource.Resource) []error {
	errs := make([]error, len(rs))
	var titles []string
	for i, r := range rs {
		titles = append(titles, r.Title)
		errs[i] = f.write(s, r)
	}
	if err := f.at("batch", fmt.Sprint(titles)); err != nil {
		return nil
	}
	return errs
}

func (f batched) Overtakes(other resource.Resource) bool { return other.Type != "many" }

type prefetched struct{ fake }

func (f prefetched) Prefetch(_ context.Context, s *types.Session, rs []resource.Resource) error {
	var titles []string
	for _, r := range rs {
		titles = append(titles, r.Title)
	}
	return f.at("prefetch", fmt.Sprint(titles))
}

// bench is a sandbox on which manifests of fake resources run.
type bench struct {
	*sandbox
	types map[string]types.Type
	log   []string // what was applied, undone and refreshed
	hook  func(stage, title string) error
	run   string
}

func newBench(t *testing.T) *bench {
	b := &bench{sandbox: newSandbox(t), run: "run-1"}
	b.mkdir("/fake")
	b.useTypes()
	return b
}

func (b *bench) useTypes() {
	f := func(name string) fake {
		return fake{name, &b.log, func(stage, title string) error {
			if b.hook != nil {
				return b.hook(stage, title)
			}
			return nil
		}}
	}
	b.types = map[string]types.Type{
		"plain": f("plain"), "whole": f("whole"), "svc": refreshed{f("svc")}, "pkg": batched{f("pkg")}, "many": prefetched{f("many")},
	}
}

// item makes an item `type[title]` whose parameters are given in pairs.
func item(id string, pairs ...any) Item {
	typ, title, err := resource.ParseID(id)
	if err != nil {
		panic(err)
	}
	p := resource.Parameters{}
	for i := 0; i < len(pairs); i += 2 {
		value := pairs[i+1]
		if n, ok := value.(int); ok {
			value = int64(n) // the one kind of integer that parameters have
		}
		p[pairs[i].(string)] = value
	}
	r := resource.Resource{Type: typ, Title: title, Parameters: p}
	return Item{Resource: r, Digest: resource.Digest(r)}
}

func (i Item) requires(ids ...resource.ID) Item { i.Requires = ids; return i }
func (i Item) notifies(ids ...resource.ID) Item { i.Notifies = ids; return i }
func (i Item) refreshOnly() Item                { i.RefreshOnly = true; return i }

func removal(id string) Item {
	i := item(id)
	i.Parameters, i.Digest, i.Remove = nil, "", true
	return i
}

// converge runs items of the site "one".
func (b *bench) converge(mode Mode, items ...Item) ([]Result, Summary) {
	return b.session(b.t.Context(), Manifest{Mode: mode, Items: items})
}

func (b *bench) session(ctx context.Context, c Manifest) ([]Result, Summary) {
	c.Protocol = Protocol
	if c.Site == "" {
		c.Site = "one"
	}
	if c.Run == "" {
		c.Run = b.run
	}
	b.log = nil
	var results []Result
	summary := runWith(ctx, b.Session, b.types, c, func(r Result) {
		r.Millis = 0
		results = append(results, r)
	})
	return results, summary
}

// statuses shows results as `id status`, with `refreshed` where it was.
func statuses(results []Result) []string {
	var out []string
	for _, r := range results {
		text := string(r.ID) + " " + string(r.Status)
		if r.Refreshed {
			text += " refreshed"
		}
		out = append(out, text)
	}
	return out
}

func (b *bench) wantStatuses(results []Result, want ...string) {
	b.t.Helper()
	if got := statuses(results); !slices.Equal(got, want) {
		b.t.Errorf("results %q, want %q", got, want)
		for _, r := range results {
			b.t.Logf("%s: %s", r.ID, r.Message)
		}
	}
}

func (b *bench) wantLog(want ...string) {
	b.t.Helper()
	if !slices.Equal(b.log, want) {
		b.t.Errorf("did %q, want %q", b.log, want)
	}
}

// ledgerNow reads the ledger as it is on the disk.
func (b *bench) ledgerNow() *ledger.Ledger {
	b.t.Helper()
	l, err := ledger.Read(b.System)
	if err != nil {
		b.t.Fatal(err)
	}
	return l
}
