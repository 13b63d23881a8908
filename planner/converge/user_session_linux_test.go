package converge

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
)

// A session that is not root may work on a sandbox of its own, and is refused by a machine.
func TestSessionOfAnotherUser(t *testing.T) {
	if role() == "user" {
		asUser(t, os.Getenv("DIR"))
		return
	}
	needRoot(t)
	dir, err := os.MkdirTemp("", "slipway-user") //nolint:usetesting // the other user must get to it
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for _, err := range []error{os.Mkdir(dir+"/node", 0o755), os.WriteFile(dir+"/node/theirs", nil, 0o644), os.Chmod(dir, 0o755), os.Chown(dir+"/node", foreigner, foreigner)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if state, out := child(t, foreigner, "user", "DIR="+dir+"/node"); !state.Success() {
		t.Errorf("%v\n%s", state, out)
	}
}

func asUser(t *testing.T, dir string) {
	machine, err := system.New("/")
	if err != nil {
		t.Fatal(err)
	}
	defer machine.Close()
	for _, mode := range []Mode{Prepare, Check, Apply} {
		if s := Run(t.Context(), machine, Manifest{Protocol: Protocol, Site: "s", Run: "r", Mode: mode}, func(Result) {}); s.Error == nil || s.Error.Code != CodeRoot {
			t.Errorf("mode %s on a machine as user %d: %+v", mode, os.Geteuid(), s.Error)
		}
	}
	s, err := system.New(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.WriteFile("/x", []byte("old"), system.Attributes{}); err != nil {
		t.Fatal(err)
	}
	err = s.WriteFile("/x", []byte("new"), system.Attributes{UID: pointer(0)})
	if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "this needs root") {
		t.Errorf("giving a file to root: %v", err)
	}
	if err := s.SetAttributes("/x", system.Attributes{GID: pointer(0)}); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("giving a file to the group root: %v", err)
	}
	// A failed write leaves the old file, and nothing beside it.
	if names, err := s.ReadDir("/"); err != nil || !cmp.Equal(names, []string{"theirs", "x"}) {
		t.Errorf("left: %v, %v", names, err)
	}
	if content, err := s.ReadFile("/x"); err != nil || string(content) != "old" {
		t.Errorf("%q, %v", content, err)
	}
	// A file of another user gives way to one with the same attributes or to none.
	if err := s.WriteFile("/theirs", []byte("x"), system.Attributes{}); err == nil {
		t.Error("the owner of a file of root changed silently")
	}
	if err := s.WriteFile("/theirs", []byte("x"), system.Attributes{UID: pointer(foreigner), GID: pointer(foreigner)}); err != nil {
		t.Errorf("taking over a file: %v", err)
	}
}
