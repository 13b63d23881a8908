package conformance

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// mostDifferences bounds how many vectors slipway may answer differently.
const mostDifferences = 40

// difference says why slipway does not do what a vector expects.
type difference struct{ Rule, Reason string }

// differences reads differences.yaml: by `<file>/<id>`.
func differences() (map[string]difference, error) {
	data, err := os.ReadFile("differences.yaml")
	if err != nil {
		return nil, err
	}
	var out map[string]difference
	return out, yaml.Unmarshal(data, &out)
}

func TestDifferences(t *testing.T) {
	listed, err := differences()
	if err != nil {
		t.Fatal(err)
	}
	if len(listed) > mostDifferences {
		t.Errorf("%d vectors are listed; %d is the most", len(listed), mostDifferences)
	}
	known := make(map[string]bool)
	for _, path := range vectorFiles(t, "testdata") {
		f := loadFile(t, path)
		for _, v := range f.vectors {
			known[f.name+"/"+v.id] = true
		}
	}
	for id, d := range listed {
		if !known[id] {
			t.Errorf("%s: there is no such vector", id)
		}
		if d.Rule == "" || d.Reason == "" {
			t.Errorf("%s: give a rule and a reason", id)
		}
	}
}

// check replays a vector. One that is listed as a difference must fail, and is then skipped with the reason.
func check(t *testing.T, f *file, v *vector, listed map[string]difference) {
	different, ok := listed[f.name+"/"+v.id]
	if !ok {
		replay(t, f, v)
		return
	}
	if failure := attempt(t, func(t testing.TB) { replay(t, f, v) }); failure != "" {
		t.Skipf("differs on purpose: %s: %s (%s)", different.Rule, different.Reason, strings.TrimSpace(failure))
	}
	t.Error("the vector passes; take it out of differences.yaml")
}

func replay(t testing.TB, f *file, v *vector) {
	t.Helper()
	of, ok := kinds[v.kind]
	if !ok {
		t.Fatalf("no code handles vectors of the kind %q", v.kind)
	}
	of(t, f, v)
}

// subtest runs a part of a vector, as a test of its own where the vector is one.
func subtest(t testing.TB, name string, run func(t testing.TB)) {
	t.Helper()
	if own, ok := t.(*testing.T); ok {
		own.Run(name, func(t *testing.T) { run(t) })
		return
	}
	run(t)
}

// attempt runs a test that may fail and returns its first failure, empty for none.
func attempt(t testing.TB, run func(t testing.TB)) string {
	a := &attempted{TB: t}
	done := make(chan struct{})
	go func() { // FailNow ends it
		defer close(done)
		run(a)
	}()
	<-done
	return a.failure
}

// attempted keeps a failure to itself.
type attempted struct {
	testing.TB
	failure string // the first one
}

func (a *attempted) fail(text string) {
	if a.failure == "" {
		a.failure = text
	}
}

func (a *attempted) Error(args ...any)                 { a.fail(fmt.Sprintln(args...)) }
func (a *attempted) Errorf(format string, args ...any) { a.fail(fmt.Sprintf(format, args...)) }
func (a *attempted) Fail()                             { a.fail("failed") }
func (a *attempted) FailNow()                          { a.fail("failed"); runtime.Goexit() }
func (a *attempted) Failed() bool                      { return a.failure != "" }

func (a *attempted) Fatal(args ...any) {
	a.Error(args...)
	a.FailNow()
}

func (a *attempted) Fatalf(format string, args ...any) {
	a.Errorf(format, args...)
	a.FailNow()
}

func TestAttempt(t *testing.T) {
	for want, run := range map[string]func(t testing.TB){
		"":  func(testing.TB) {},
		"a": func(t testing.TB) { t.Errorf("%s", "a"); t.Error("b") },
		"c": func(t testing.TB) { t.Fatalf("%s", "c"); panic("goes on") },
		"d": func(t testing.TB) { subtest(t, "sub", func(t testing.TB) { t.Fatal("d") }) },
	} {
		if got := strings.TrimSpace(attempt(t, run)); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
