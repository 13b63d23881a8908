package converge

import (
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/converge/ledger"
)

// A session that goes on from a lost one of its run does not do again what that had done, also where the guards of a
// command would let it run, does what that had begun, and keeps it out.
func TestResume(t *testing.T) {
	b := commandSandbox(t)
	session := func(resume bool, run string, takeover int, items ...Item) ([]Result, *SessionError) {
		var results []Result
		s := Run(t.Context(), b.System, Manifest{Protocol: Protocol, Site: "one", Run: run, Mode: Apply, Resume: resume,
			Fence: ledger.Fence{Line: "A", Number: 1, Holder: "run r", Takeover: takeover}, Items: items},
			func(r Result) { results = append(results, r) })
		return results, s.Error
	}
	file := item("file["+b.dir+"/file]", "content", "x\n")
	guarded := b.exec("guarded", "command", "echo guarded >>out", "onlyif", "/bin/true")
	begun := b.exec("begun", "command", "echo begun >>out; test -e "+b.dir+"/go")
	if results, err := session(false, "r", 0, file, guarded, begun); err != nil || results[2].Status != Failed {
		t.Fatal(results, err)
	}
	b.put("go", "")
	results, err := session(true, "r", 1, file, guarded, begun)
	if err != nil || results[0].Status != Changed || results[1].Status != Changed || results[2].Status != Changed {
		t.Errorf("%+v %v", results, err)
	}
	if got := b.get("out"); got != "guarded\nbegun\nbegun\n" {
		t.Errorf("the commands that ran: %q", got)
	}
	_, err = session(false, "r", 0, file, guarded, begun)
	if err == nil || err.Code != CodeFenced || !strings.Contains(err.Message, "another worker went on") {
		t.Errorf("the lost session came back: %v", err)
	}
	if _, err := session(true, "another", 1, guarded); err != nil || b.get("out") != "guarded\nbegun\nbegun\nguarded\n" {
		t.Errorf("what another run had done: %v, %q", err, b.get("out"))
	}
}
