package remote

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
	"github.com/slipway/terraform-provider-slipway/planner/transport/sshtest"
)

// sandboxRoot is, in the environment of this test in the place of a helper, the folder that is its node.
const sandboxRoot = "SLIPWAY_TEST_SANDBOX"

// served is a helper on a sandbox: it is this test, which calls itself.
func (n *node) served(root string) Helpers {
	n.t.Helper()
	self, err := os.Executable()
	if err != nil {
		n.t.Fatal(err)
	}
	return n.helpers(sandboxRoot + "=" + root + " exec " + self + " -test.run='^" + n.t.Name() + "$'")
}

// serve plays the helper when this process is one.
func serve(t *testing.T) {
	root := os.Getenv(sandboxRoot)
	if root == "" {
		return
	}
	s, err := system.New(root)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := converge.Serve(t.Context(), s, os.Stdin, os.Stdout, converge.SessionTimeout); err != nil {
		os.Exit(1)
	}
	os.Exit(0) // before the test prints how it ended
}

// A file of 100 MiB goes over SSH, between signs of life, to a helper that asks for it, and this side does not have it
// in memory as a whole. The helper goes on after a content that this side does not have, in the same session.
func TestContentsOverSSH(t *testing.T) {
	serve(t)
	n := newNode(t, sshtest.Options{})
	n.limits.beat, n.limits.start = time.Millisecond, time.Minute
	root := t.TempDir()
	large := filepath.Join(t.TempDir(), "large")
	f, err := os.Create(large)
	if err != nil {
		t.Fatal(err)
	}
	h := sha256.New()
	if _, err := io.CopyN(io.MultiWriter(f, h), rand.NewChaCha8([32]byte{2}), schema.MostSource); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	sum := hex.EncodeToString(h.Sum(nil))
	asked := 0
	item := func(title, sum string) converge.Item {
		r := resource.Resource{Type: "file", Title: title, Parameters: resource.Parameters{"source_file": "x", "source_sha256": sum}}
		return converge.Item{Resource: r, Digest: resource.Digest(r)}
	}
	m := converge.Manifest{Protocol: converge.Protocol, Site: "lon1", Run: "r1", Mode: converge.Apply,
		Items: []converge.Item{item("/gone", strings.Repeat("0", 64)), item("/large", sum), item("/empty", resource.SHA256(""))},
		Contents: func(_ context.Context, sums []string, use func(string, io.Reader) error) error {
			asked += len(sums)
			switch sums[0] {
			case sum:
				f, err := os.Open(large)
				if err != nil {
					return err
				}
				defer f.Close()
				return use(sum, f)
			case resource.SHA256(""):
				return use(sums[0], strings.NewReader(""))
			}
			return errors.New("no file has it")
		}}
	run := func() (got []string) {
		t.Helper()
		s, err := n.limits.converge(t.Context(), n.on(n.conn), n.connection, n.served(root), m, func(r converge.Result) {
			got = append(got, string(r.ID)+" "+string(r.Status)+" "+r.Message)
		})
		if err != nil || s.Error != nil {
			t.Fatal(err, s.Error)
		}
		return got
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got := run()
	runtime.ReadMemStats(&after)
	if want := "file[/gone] failed no file has it, file[/large] changed , file[/empty] changed "; strings.Join(got, ", ") != want {
		t.Errorf("results %q, want %q", strings.Join(got, ", "), want)
	}
	if more := int(after.HeapSys) - int(before.HeapSys); more > 64<<20 {
		t.Errorf("this side took %d MiB more memory", more>>20)
	}
	written, err := os.Open(filepath.Join(root, "large"))
	if err != nil {
		t.Fatal(err)
	}
	defer written.Close()
	h.Reset()
	if _, err := io.Copy(h, written); err != nil || hex.EncodeToString(h.Sum(nil)) != sum {
		t.Errorf("the node has another content (%v)", err)
	}
	if asked != 3 {
		t.Errorf("%d contents were asked for, want 3", asked)
	}
	m.Items = m.Items[1:]
	if got := run(); len(got) != 2 || asked != 3 {
		t.Errorf("results %v after %d contents, want no change and no more of them", got, asked)
	}
}

// A node that asks for more contents than its manifest has is given up.
func TestNodeThatAsksForTooMuch(t *testing.T) {
	n := newNode(t, sshtest.Options{})
	_, _, err := n.converge(n.helpers(`read -r m; echo '{"want":["` + strings.Repeat("0", 64) + `"]}'; read -r x`))
	refused(t, err, converge.CodeProtocol, "requests for more contents than its manifest has")
}
