//go:build planted

package run

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// planted are defects: what to write in a file of the machine instead of what is there once.
var planted = []struct{ name, file, before, after string }{
	{"one node too many is locked", "call.go", "c.atWork+c.idle < c.group", "c.atWork+c.idle <= c.group"},
	{"a node stays locked after a failure", "call.go", "|| ch.closing {",
		"|| ch.closing || !m.at.Before(ch.call.until) {"},
	{"the brake looks at no criteria", "call.go", "c.group.Stops() && c.short()",
		"c.group.Stops() && c.short() && c.open == 0"},
	{"a node starts outside of the maintenance window", "window.go", "ch.sessions[0].Kind.startsNode()",
		"ch.sessions[0].Kind == Prepare"},
	{"a failed node goes on", "call.go", "		c.gone[s.Node] = true\n	}\n}", "	}\n}"},
	{"a stopped run starts more", "call.go", "	case m.stop(), m.spent && c.outside != nil:\n",
		"	case m.stop() && s.Kind != Callback, m.spent && c.outside != nil:\n"},
	{"a place of the run is not taken", "call.go", "				m.free--\n", "				m.free -= order(m.free > 1)\n"},
	{"two callbacks at once", "call.go", "case s.Kind == Callback && m.calling,",
		"case s.Kind == Callback && m.calling && !ch.window,"},
	{"an end that comes twice counts", "run.go", "			delete(m.running, e.ID)\n", ""},
	{"phases in another order", "group.go", "cmp.Or(a.Phase-b.Phase, a.From-b.From)",
		"cmp.Or(a.From-b.From, a.Phase-b.Phase)"},
	{"a chain keeps its place", "call.go", "	if ch.call.now.takesPlace() {\n",
		"	if ch.call.now.takesPlace() && !ch.closing {\n"},
	{"a batch that failed is not the last", "call.go", "case m.spent, len(c.batchFailed(c.sound)) > 0, ",
		"case c.batch > 0:\n	case m.spent, "},
	{"a lost session is tried again at once", "call.go", "m.wakeAt(ch.again)\n		return waiting, nil\n", "m.wakeAt(ch.again)\n"},
	{"a lost restore is not tried again in a closed maintenance window", "call.go",
		"m.leaves(c.group.Name) && !ch.begun && s.Kind.startsNode() ||", "m.leaves(c.group.Name) ||"},
	{"a snapshot forgets how often a session was lost", "snapshot.go", `"losses": &ch.losses, `, ""},
	{"a snapshot forgets the order of the lock windows", "snapshot.go", "s.Queue = append(s.Queue, ch.place)",
		"s.Queue = append([]int{ch.place}, s.Queue...)"},
	{"a node that succeeded in a batch that failed is not put back", "batch.go", "return c.braked && changed",
		"return c.braked && changed && m.node(node).failed"},
	{"a batch that succeeded is put back", "batch.go", "return c.braked && changed",
		"return (c.braked || len(c.group.Batches) > c.batch) && changed"},
	{"only its percentage puts a batch back", "batch.go", "return c.braked && changed",
		"return c.braked && changed && len(c.batchFailed(c.sound)) > 0"},
	{"a batch that waits for approval is put back", "batch.go", "	c.rounds = c.rounds[next:]", "	_ = c.rounds[next:]"},
	{"a snapshot forgets what was changed", "snapshot.go", `, "changed": &c.changed`, ""},
	{"the second health check is left out", "batch.go", "if r.HealthCheck != nil {\n			again", "if r.Soak == 0 {\n			again"},
	{"a node that is only to be checked is deployed behind the brake", "call.go", "(s.Kind != Check || s.Phase > 0)", "s.Kind != Check"},
	{"a node that is only to be checked is not", "batch.go", "		if s.Node != \"\" {\n			nodes", "		if s.Node != \"\" && s.Kind != Check {\n			nodes"},
	{"a batch starts before the one before it is approved", "batch.go", "c.approved >= done ||", "c.approved >= done-1 ||"},
	{"a held run starts more", "window.go", "(m.held || c.group != nil &&", "(c.group != nil &&"},
	{"nobody wakes a run that waits", "window.go", "	m.wakeAt(at)\n	return true", "	return true"},
	{"a run that ends where it pauses goes on", "window.go", "m.p.EndAtPause && at.After(m.at)", "m.p.EndAtPause && at.Before(m.at)"},
	{"the time in a closed maintenance window counts", "call.go", "c.until.Add(m.closedFor(c.groupName(), c.seen))", "c.until"},
	{"one node too many may fail", "run.go", "len(m.failed) > *m.p.MayFail", "len(m.failed) > *m.p.MayFail+1"},
	{"another pass forgets who failed", "run.go", "next.failed, next.spent = m.failed, m.spent", "next.spent = m.spent"},
	{"a lost session is tried again without end", "call.go", "id.Attempt >= mostAttempts || ", ""},
	{"a lost session is tried again behind the brake", "call.go", "|| c.braked && !ch.begun && !s.Kind.cleansUp() ||", "||"},
	{"a batch does not soak", "batch.go", "if r.Soak > 0 && len(checks) > 0 {", "if r.Soak > 0 && len(checks) > 1 {"},
	{"a node is locked before what was left locked is unlocked", "call.go", "c.unlocking == 0 && c.atWork", "c.atWork"},
	{"a callback runs without the lock", "call.go", "(ch.unlocking || !m.locked[s.Node]) && !ch.opened", "ch.unlocking && !ch.opened"},
	{"a critical group that failed is a warning", "run.go", "case r.CriticalFailed || m.worst == StatusFailed:",
		"case m.worst == StatusFailed:"},
	{"a run waits without end", "window.go", "	at, _ := m.opens(group)\n	if !at.After(m.at) ||",
		"	at := m.at.Add(time.Minute)\n	if !at.After(m.at) ||"},
}

// TestPlanted checks that 100,000 random runs find each of the planted defects, and that the scenario that they print
// breaks the same rule when it is read.
func TestPlanted(t *testing.T) {
	for _, defect := range planted {
		t.Run(defect.name, func(t *testing.T) {
			source, err := os.ReadFile(defect.file)
			if err != nil {
				t.Fatal(err)
			}
			if n := bytes.Count(source, []byte(defect.before)); n != 1 {
				t.Fatalf("%s has %q %d times, want once", defect.file, defect.before, n)
			}
			dir := t.TempDir()
			here, err := filepath.Abs(defect.file)
			if err != nil {
				t.Fatal(err)
			}
			there, overlay := filepath.Join(dir, defect.file), filepath.Join(dir, "overlay.json")
			write(t, there, bytes.Replace(source, []byte(defect.before), []byte(defect.after), 1))
			replace, err := json.Marshal(map[string]any{"Replace": map[string]string{here: there}})
			if err != nil {
				t.Fatal(err)
			}
			write(t, overlay, replace)
			out, err := runsOf(overlay, "-runs.n", "100000")
			found := regexp.MustCompile(`(?s)seed \d+, as small as it can be:\n(.*?\n)FAIL`).FindSubmatch(out)
			if err == nil || found == nil {
				t.Fatalf("not found: %v\n%s", err, out)
			}
			scenario := regexp.MustCompile(`(?m)^ {8}`).ReplaceAll(found[1], nil)
			broken, _, _ := bytes.Cut(scenario[len("# "):], []byte("\n"))
			printed := filepath.Join(dir, "scenario.txtar")
			write(t, printed, scenario)
			if out, err = runsOf(overlay, "-runs.scenario", printed); err == nil || !bytes.Contains(out, broken) {
				t.Errorf("the scenario that was printed does not break this rule when it is read: %v\n%s\n%s", err, scenario, out)
			}
			t.Logf("%s", broken)
		})
	}
}

// runsOf runs TestRandomRuns with another file of the machine.
func runsOf(overlay string, args ...string) ([]byte, error) {
	return exec.Command("go", slices.Concat([]string{"test", "-overlay", overlay, "-count=1", "-timeout", "30m", ".", "-run",
		"^TestRandomRuns$"}, args)...).CombinedOutput()
}

func write(t *testing.T, file string, text []byte) {
	t.Helper()
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}
