package converge

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// supply is a controller's contents, by name, and how often each was asked for.
type supply struct {
	texts map[string]string // SHA-256 -> content
	asked map[string]int
}

func supplyOf(texts ...string) *supply {
	s := &supply{map[string]string{}, map[string]int{}}
	for _, text := range texts {
		s.texts[resource.SHA256(text)] = text
	}
	return s
}

func (s *supply) contents(_ context.Context, sums []string, use func(string, io.Reader) error) error {
	for _, sum := range sums {
		s.asked[sum]++
		text, ok := s.texts[sum]
		if !ok {
			return errors.New(`source_file "app.bin": no such file or directory`)
		}
		if err := use(sum, strings.NewReader(text)); err != nil {
			return err
		}
	}
	return nil
}

// sent is a file whose content the controller sends.
func sent(title, content string, more ...any) Item {
	return item("file["+title+"]", append([]any{"source_file", "app.bin", "source_sha256", resource.SHA256(content)}, more...)...)
}

func (b *sandbox) applyFrom(s *supply, items ...Item) []Result {
	b.t.Helper()
	return b.run(Manifest{Protocol: Protocol, Site: "one", Run: "r", Mode: Apply, Items: items, Contents: s.contents})
}

func (b *sandbox) run(m Manifest) (results []Result) {
	b.t.Helper()
	if s := Run(b.t.Context(), b.System, m, func(r Result) { results = append(results, r) }); s.Error != nil {
		b.t.Fatal(s.Error)
	}
	return results
}

func wantStatus(t *testing.T, results []Result, want Status, text string) {
	t.Helper()
	if len(results) != 1 || results[0].Status != want || !strings.Contains(fmt.Sprint(results[0]), text) {
		t.Errorf("results %+v, want one that is %s with %q", results, want, text)
	}
}

// The whole life of a file whose content the controller sends: it is sent only to a node whose file differs, never for
// a check, and what was there before returns.
func TestFileOfTheController(t *testing.T) {
	b := nodeOf(t, map[string]string{"/app": "old"})
	from := supplyOf("new", "newer")
	it := sent("/app", "new", "mode", "0755")
	wantStatus(t, b.inMode(Check, it), Differs, "content is {sha256}cba06b57, should be {sha256}11507a0e")
	wantStatus(t, b.applyFrom(from, it), Changed, "content")
	if b.get("/app") != "new" || b.tree()["/app"] != "-rwxr-xr-x new" {
		t.Errorf("the node has %q", b.tree()["/app"])
	}
	wantStatus(t, b.applyFrom(from, it), Unchanged, "")
	wantStatus(t, b.inMode(Check, it), Unchanged, "")
	if n := from.asked[resource.SHA256("new")]; n != 1 {
		t.Errorf("the content was asked for %d times, want once", n)
	}
	b.put("/app", "by hand")
	wantStatus(t, b.inMode(Check, it), Differs, "content")
	wantStatus(t, b.applyFrom(from, it), Changed, "content")
	if b.get("/app") != "new" {
		t.Errorf("after the repair the node has %q", b.get("/app"))
	}
	wantStatus(t, b.applyFrom(from, sent("/app", "newer")), Changed, "content")
	b.tearDown()
	if got := b.tree()["/app"]; got != "-rw-r--r-- old" {
		t.Errorf("after the undo the node has %q, want what was there before", got)
	}
}

// A content that is not the one of the plan, that cannot be had, or is too large, leaves the file as it is.
func TestFileOfTheControllerThatIsAnother(t *testing.T) {
	for name, test := range map[string]struct {
		contents types.Contents
		want     string
	}{
		"another": {func(_ context.Context, sums []string, use func(string, io.Reader) error) error {
			return use(sums[0], strings.NewReader("other"))
		}, "the content is not the one with the SHA-256"},
		"none":     {supplyOf().contents, "no such file or directory"},
		"no bring": {nil, "does not come with this session"},
		"too large": {func(_ context.Context, sums []string, use func(string, io.Reader) error) error {
			return use(sums[0], io.LimitReader(zeros{}, schema.MostSource+1))
		}, "more than 104857600 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			b := nodeOf(t, map[string]string{"/app": "old"})
			m := Manifest{Protocol: Protocol, Site: "one", Run: "r", Mode: Apply, Items: []Item{sent("/app", "new")}, Contents: test.contents}
			wantStatus(t, b.run(m), Failed, test.want)
			names, err := os.ReadDir(b.dir)
			if err != nil || b.get("/app") != "old" {
				t.Errorf("the node has %q (%v)", b.get("/app"), err)
			}
			for _, n := range names {
				if strings.HasPrefix(n.Name(), ".slipway-") {
					t.Errorf("left on the node: %s", n.Name())
				}
			}
		})
	}
}

// The path on the controller is in no digest, so that equal contents from two places are one resource.
func TestPlaceOfAFileIsInNoDigest(t *testing.T) {
	one := sent("/app", "new").Resource
	other := resource.Resource{Type: one.Type, Title: one.Title, Parameters: resource.Parameters{
		"source_file": "elsewhere/app.bin", "source_sha256": resource.SHA256("new")}}
	if resource.Digest(one) != resource.Digest(other) {
		t.Error("the path changes the digest")
	}
	if other.Parameters["source_sha256"] = resource.SHA256("newer"); resource.Digest(one) == resource.Digest(other) {
		t.Error("the content does not change the digest")
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// controller plays the controller of a helper: it answers what the helper asks for, with signs of life in between.
func controller(t *testing.T, out io.Reader, in io.Writer, contents types.Contents) (results []Result, s Summary) {
	t.Helper()
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	write := func(p []byte) error {
		_, err := in.Write(append(p, '\n')) // a sign of life after each part
		return err
	}
	for lines.Scan() {
		var m Message
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			t.Fatal(err)
		}
		switch {
		case m.Summary != nil:
			return results, *m.Summary
		case m.Result != nil:
			results = append(results, *m.Result)
		}
		for _, sum := range m.Want {
			err := contents(t.Context(), []string{sum}, func(_ string, content io.Reader) error { return SendContent(content, write) })
			if err != nil {
				err = SendFailure(err, write)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Fatal("the helper ended without a summary")
	return nil, Summary{}
}

// A helper asks for what its node lacks, and goes on after a content that cannot be had.
func TestHelperAsksForContents(t *testing.T) {
	b := nodeOf(t, map[string]string{"/same": "same", "/d/": ""})
	large := strings.Repeat("0123456789abcdef\n", 20<<10) // of several parts
	from := supplyOf("same", "one", "", large)
	m := Manifest{Protocol: Protocol, Site: "one", Run: "r", Mode: Apply, Items: []Item{
		sent("/same", "same"), sent("/one", "one"), sent("/gone", "nobody has it"), sent("/none/there", "one"), sent("/empty", ""), sent("/d/large", large),
	}}
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	in, input := io.Pipe()
	output, out := io.Pipe()
	served := make(chan error, 1)
	go func() {
		_, err := Serve(t.Context(), b.System, in, out, time.Minute)
		served <- err
	}()
	if _, err := input.Write(append(text, '\n')); err != nil {
		t.Fatal(err)
	}
	results, summary := controller(t, output, input, from.contents)
	_ = input.Close()
	if err := <-served; err != nil || summary.Error != nil {
		t.Fatal(err, summary.Error)
	}
	var got []string
	for _, r := range results {
		got = append(got, fmt.Sprintf("%s %s %s", r.ID, r.Status, r.Message))
	}
	want := []string{"file[/same] unchanged ", "file[/one] changed ", `file[/gone] failed source_file "app.bin": no such file or directory`,
		"file[/none/there] failed the directory /none is not there; make it first, as a file resource with ensure = \"directory\", or name what makes it in require",
		"file[/empty] changed ", "file[/d/large] changed "}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("results\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if b.get("/d/large") != large || b.get("/one") != "one" || b.get("/empty") != "" {
		t.Error("the node has another content than the controller")
	}
	if n := from.asked[resource.SHA256("same")]; n != 0 {
		t.Errorf("a content that the node has was asked for %d times", n)
	}
}

// mostMemory bounds what a helper needs in addition to write a file of 100 MiB, to keep the 100 MiB that were there
// before, and to put them back.
const mostMemory = 32 << 20

// A helper holds no content in memory as a whole. It is a process of its own, whose kernel counts what it used at most.
func TestMemoryOfALargeFile(t *testing.T) {
	dir := os.Getenv("DIR")
	if role() == "helper" {
		s, err := system.New(dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Serve(t.Context(), s, os.Stdin, os.Stdout, 10*time.Minute); err != nil {
			t.Fatal(err)
		}
		status, err := os.ReadFile("/proc/self/status")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(os.Getenv("STATUS"), status, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	b := newSandbox(t)
	random := rand.NewChaCha8([32]byte{1})
	for _, name := range []string{"/app", "/new"} {
		f, err := os.Create(b.real(name))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.CopyN(f, random, schema.MostSource); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	before, wanted := sumOf(t, b.real("/app")), sumOf(t, b.real("/new"))
	contents := func(_ context.Context, sums []string, use func(string, io.Reader) error) error {
		f, err := os.Open(b.real("/new"))
		if err != nil {
			return err
		}
		defer f.Close()
		return use(sums[0], f)
	}
	it := item("file[/app]", "source_file", "app.bin", "source_sha256", wanted)
	idle := helperOf(t, b.dir, Manifest{Protocol: Protocol, Site: "one", Mode: Prepare}, contents)
	for _, step := range []struct {
		manifest Manifest
		want     string
	}{
		{Manifest{Protocol: Protocol, Site: "one", Run: "r1", Mode: Apply, Images: true, Items: []Item{it}}, wanted},
		{Manifest{Protocol: Protocol, Site: "one", Run: "r1", Mode: Apply, Restore: true}, before},
		{Manifest{Protocol: Protocol, Site: "one", Run: "r2", Mode: Apply, Items: []Item{it}}, wanted},
		{Manifest{Protocol: Protocol, Site: "one", Run: "r3", Mode: Apply, Items: []Item{item("file[/app]", "mode", "0600")}}, before},
		{Manifest{Protocol: Protocol, Site: "one", Run: "r4", Mode: Apply, Items: []Item{it}}, wanted},
		{Manifest{Protocol: Protocol, Site: "one", Run: "r5", Mode: Apply, TearDown: true}, before},
	} {
		used := helperOf(t, b.dir, step.manifest, contents) - idle
		t.Logf("%s: %d MiB more than the %d MiB of a helper that does nothing", step.manifest.Run, used>>20, idle>>20)
		if used > mostMemory {
			t.Errorf("%s: the helper used %d MiB more", step.manifest.Run, used>>20)
		}
		if is := sumOf(t, b.real("/app")); is != step.want {
			t.Fatalf("%s: the node has %s, want %s", step.manifest.Run, is, step.want)
		}
	}
}

func sumOf(t *testing.T, path string) string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// helperOf runs a manifest with a helper in a process of its own, and returns the most memory that it used, in bytes.
func helperOf(t *testing.T, dir string, m Manifest, contents types.Contents) int {
	t.Helper()
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	statusFile := filepath.Join(t.TempDir(), "status")
	cmd := childCommand(t, "helper", "DIR="+dir, "STATUS="+statusFile)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Write(append(text, '\n')); err != nil {
		t.Fatal(err)
	}
	results, summary := controller(t, out, in, contents)
	for _, r := range results {
		if r.Status != Changed {
			t.Errorf("%s: %s is %s: %s", m.Run, r.ID, r.Status, r.Message)
		}
	}
	if summary.Error != nil {
		t.Fatal(summary.Error)
	}
	_ = in.Close()
	_, _ = io.Copy(io.Discard, out)
	if err := cmd.Wait(); err != nil {
		t.Fatal(err, complaints.String())
	}
	status, err := os.ReadFile(statusFile)
	if err != nil {
		t.Fatal(err)
	}
	_, peak, found := strings.Cut(string(status), "VmHWM:")
	if !found {
		t.Fatalf("no VmHWM in %s", status)
	}
	kib, err := strconv.Atoi(strings.Fields(peak)[0])
	if err != nil {
		t.Fatal(err)
	}
	return kib << 10
}
