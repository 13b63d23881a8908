package converge

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// TestAnArchiveThatMovesAndFails: the former version of an application stays when the archive of the new one is damaged
// or missing, and goes once that is there. So it is whether the archive's own path changes or not, and whether it is kept.
func TestAnArchiveThatMovesAndFails(t *testing.T) {
	archive := func(name, at, dir string, more ...any) Item {
		return item("archive[app]", append([]any{"path", at, "source", "/" + name, "extract", true, "extract_path", dir}, more...)...)
	}
	for name, tt := range map[string]struct {
		was, fails Item
		fix        string
	}{
		"damaged":         {archive("good.tar.gz", "/tmp/a.tar.gz", "/opt/app-1.0"), archive("bad.tar.gz", "/tmp/a.tar.gz", "/opt/app-1.1"), "bad.tar.gz"},
		"missing":         {archive("good.tar.gz", "/tmp/a.tar.gz", "/opt/app-1.0"), archive("no.tar.gz", "/tmp/a.tar.gz", "/opt/app-1.1"), "no.tar.gz"},
		"of another path": {archive("good.tar.gz", "/tmp/1.0.tar.gz", "/opt/app-1.0"), archive("bad.tar.gz", "/tmp/1.1.tar.gz", "/opt/app-1.1"), "bad.tar.gz"},
		"kept":            {archive("good.tar.gz", "/tmp/1.0.tar.gz", "/opt/app-1.0", "cleanup", false), archive("bad.tar.gz", "/tmp/1.1.tar.gz", "/opt/app-1.1", "cleanup", false), "bad.tar.gz"},
	} {
		t.Run(name, func(t *testing.T) {
			good := gzipped(t, tarOf(t, member{name: "bin/"}, member{name: "bin/app", content: "1"}))
			b := nodeOf(t, map[string]string{"/good.tar.gz": good, "/bad.tar.gz": good[:len(good)/2], "/tmp/": ""})
			b.wantAll("first", Changed, b.apply(tt.was))
			b.wantAll("it fails", Failed, b.apply(tt.fails))
			if !b.there("/opt/app-1.0/bin/app") {
				t.Fatal("the former version is gone")
			}
			b.put("/"+tt.fix, good)
			b.of("one", Manifest{Mode: Apply, Run: "images", Images: true, Items: []Item{tt.fails}})
			b.wantAll("what comes from an archive is not restored", Unchanged, b.of("one", Manifest{Mode: Apply, Run: "images", Restore: true}))
			if b.there("/opt/app-1.0") || !b.there("/opt/app-1.1/bin/app") {
				t.Errorf("%v", b.tree())
			}
			b.wantAll("once more", Unchanged, b.apply(tt.fails))
			b.tearDown()
			if b.there("/opt") || b.there("/tmp/1.1.tar.gz") {
				t.Errorf("%v", b.tree())
			}
		})
	}
}

// TestAFailureSaysWhatWasUndone: where the new object cannot be beside the former one, the error of the new one says that
// the former one is gone.
func TestAFailureSaysWhatWasUndone(t *testing.T) {
	good := gzipped(t, tarOf(t, member{name: "a", content: "1"}))
	b := nodeOf(t, map[string]string{"/good.tar.gz": good, "/tmp/": ""})
	kept := func(source, dir string) Item {
		return item("archive[app]", "path", "/tmp/a", "source", source, "extract", true, "extract_path", dir, "cleanup", false)
	}
	b.apply(kept("/good.tar.gz", "/opt/1"))
	r := b.apply(kept("/no.tar.gz", "/opt/2"))[0]
	if want := "; what it looked after before, /tmp/a /opt/1 kept, was undone first"; r.Status != Failed || !strings.HasSuffix(r.Message, want) {
		t.Errorf("%+v, want %q", r, want)
	}
}

// TestKilledWhileAResourceMoves: a session that is killed between the new object and the end of the former one leaves
// both in the ledger, and the next one completes that, whichever of the two the resource is to have by then.
func TestKilledWhileAResourceMoves(t *testing.T) {
	was, now := item("file[c]", "path", "/old", "content", "x"), item("file[c]", "path", "/new", "content", "y")
	if role() != "" {
		s, err := system.New(os.Getenv("DIR"))
		if err != nil {
			t.Fatal(err)
		}
		session := &types.Session{System: s}
		b := &bench{sandbox: &sandbox{session, os.Getenv("DIR"), t}, run: "run-1", types: map[string]types.Type{
			"file": killedMove{types.All["file"].(everything), role()},
		}}
		b.converge(Apply, now)
		t.Fatal("not killed")
	}
	for _, stage := range []string{"before apply", "after apply", "before undo", "after undo"} {
		for _, then := range []Item{was, now} {
			t.Run(stage+" "+then.Parameters.String("path"), func(t *testing.T) {
				b := nodeOf(t, map[string]string{"/old": "theirs"})
				before := b.tree()
				b.apply(was)
				if state, out := childOf(t, "TestKilledWhileAResourceMoves", os.Geteuid(), stage, "DIR="+b.dir); state.ExitCode() != -1 {
					t.Fatalf("not killed: %v\n%s", state, out)
				}
				if stage != "after undo" && b.get("/old") != "x" {
					t.Errorf("old %q", b.get("/old"))
				}
				if r := b.apply(then)[0]; r.Status == Failed {
					t.Errorf("%+v", r)
				}
				b.wantAll("once more", Unchanged, b.apply(then))
				if moved := then.Parameters.String("path") == "/new"; b.there("/new") != moved || b.get("/old") != map[bool]string{true: "theirs", false: "x"}[moved] {
					t.Errorf("new %t, old %q", b.there("/new"), b.get("/old"))
				}
				b.tearDown()
				if diff := cmp.Diff(before, b.tree()); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

// everything is what the type file does, of which killedMove needs all.
type everything interface {
	types.Type
	types.Resolver
	types.Mover
	types.Widener
}

// killedMove is a type whose session is killed at a stage.
type killedMove struct {
	everything
	stage string
}

func (k killedMove) at(stage string) {
	if stage == k.stage {
		_ = unix.Kill(os.Getpid(), unix.SIGKILL)
	}
}

func (k killedMove) Apply(ctx context.Context, s *types.Session, r resource.Resource) error {
	k.at("before apply")
	defer k.at("after apply")
	return k.everything.Apply(ctx, s, r)
}

func (k killedMove) Undo(ctx context.Context, s *types.Session, title string, before json.RawMessage) error {
	k.at("before undo")
	defer k.at("after undo")
	return k.everything.Undo(ctx, s, title, before)
}

// TestACloneThatMovesAndFails: the former clone stays when the new one cannot be made, and goes once it is there.
func TestACloneThatMovesAndFails(t *testing.T) {
	b := newGitNode(t)
	clone := func(at, source string) Item {
		return item("vcsrepo[app]", "path", b.real(at), "source", b.real(source))
	}
	b.wantAll("first", Changed, b.apply(clone("/srv/1", "/git/app")))
	b.wantAll("it fails", Failed, b.apply(clone("/srv/2", "/git/missing")))
	if !b.there("/srv/1/a.txt") {
		t.Fatal("the former clone is gone")
	}
	b.wantAll("fixed", Changed, b.apply(clone("/srv/2", "/git/app")))
	if b.there("/srv/1") || !b.there("/srv/2/a.txt") {
		t.Error("the former clone is there, or the new one is not")
	}
	b.tearDown()
	if b.there("/srv/2") {
		t.Error("the clone is left")
	}
}

// TestTheErrorOfAFormerObjectNamesIt: one that cannot be undone is named, once, and stays with its resource.
func TestTheErrorOfAFormerObjectNamesIt(t *testing.T) {
	var arguments []string
	b := secretNode(t, &arguments)
	inner := b.Commands
	b.Commands = func(ctx context.Context, c system.Command) (system.Output, error) {
		if c.Argv[0] == "userdel" {
			return system.Output{Status: 8, Combined: "userdel: user one is currently used by process 4\n"}, nil
		}
		return inner(ctx, c)
	}
	b.wantAll("first", Changed, b.apply(item("user[u]", "name", "one")))
	r := b.apply(item("user[u]", "name", "two"))[0]
	want := `one, which it looked after before: undo: user "one": userdel ended with status 8: userdel: user one is currently used by process 4`
	if r.Status != Failed || r.Message != want {
		t.Errorf("%s: %s", r.Status, r.Message)
	}
}
