package e2e

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/slipway/terraform-provider-slipway/test/lab"
)

// strike is one way to interrupt a run.
type strike struct {
	victim string         // terraform, provider, helper, session, node
	signal syscall.Signal // of a process; SIGSTOP is followed by SIGCONT
	mode   string         // of a node, see lab.Node.Fail
}

// strikes are all of them. The session is the process of sshd that serves it.
var strikes = []strike{
	{"terraform", syscall.SIGINT, ""}, {"terraform", syscall.SIGTERM, ""}, {"terraform", syscall.SIGKILL, ""}, {"terraform", syscall.SIGSTOP, ""},
	{"provider", syscall.SIGINT, ""}, {"provider", syscall.SIGTERM, ""}, {"provider", syscall.SIGKILL, ""}, {"provider", syscall.SIGSTOP, ""},
	{"helper", syscall.SIGINT, ""}, {"helper", syscall.SIGTERM, ""}, {"helper", syscall.SIGKILL, ""}, {"helper", syscall.SIGSTOP, ""},
	{"session", syscall.SIGINT, ""}, {"session", syscall.SIGTERM, ""}, {"session", syscall.SIGKILL, ""}, {"session", syscall.SIGSTOP, ""},
	{"node", 0, "off"}, {"node", 0, "hang"}, {"node", 0, "freeze"},
}

func (s strike) String() string {
	switch s.signal {
	case 0:
		return s.victim + " " + s.mode
	case syscall.SIGSTOP:
		return s.victim + " STOP+CONT"
	case syscall.SIGINT:
		return s.victim + " INT"
	case syscall.SIGTERM:
		return s.victim + " TERM"
	}
	return s.victim + " KILL"
}

// timing is when a strike comes: so much later than so many tasks have finished.
type timing struct {
	finished int
	later    time.Duration
	stopped  time.Duration // between SIGSTOP and SIGCONT
}

func (m timing) String() string { return fmt.Sprintf("%s after %d tasks", m.later, m.finished) }

func (x torture) moment(operation string) timing {
	tasks := map[string]int{"create": 60, "update": 35, "destroy": 1}[operation]
	later := map[string]int{"create": 1000, "update": 500, "destroy": 2500}[operation]
	return timing{
		finished: x.random.IntN(tasks), later: time.Duration(x.random.IntN(later)) * time.Millisecond,
		stopped: []time.Duration{time.Second, 12 * time.Second}[x.random.IntN(2)],
	}
}

// strike waits for the moment and strikes, again while there is nothing to hit, until the run is over. It reports whether it hit: the journal says that
// the operation was running, with tasks that were started and had not finished, and that it had not ended when the strike was done.
func (x torture) strike(w *workspace, p *process, s strike, victim lab.Node, operation string, when timing, over <-chan struct{}) bool {
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for waited := false; ; {
		select {
		case <-over:
			return false
		case <-poll.C:
		}
		running, ok := w.running(operation)
		if !ok || running.started <= running.finished || running.finished < when.finished {
			continue
		}
		if !waited {
			waited = true
			select {
			case <-over:
				return false
			case <-time.After(when.later):
			}
			continue // what runs now is looked up again
		}
		if !s.hit(w, p, victim) {
			continue
		}
		after, ok := w.running(operation)
		hit := ok && after.id == running.id
		if s.signal == syscall.SIGSTOP {
			time.Sleep(when.stopped) // this is how long the victim stands still
			s.with(w, p, victim, syscall.SIGCONT)
		}
		return hit
	}
}

// hit strikes once and reports whether there was something to hit.
func (s strike) hit(w *workspace, p *process, victim lab.Node) bool {
	if s.mode != "" {
		return victim.Lab.Run("fail", victim.Name, s.mode) == nil
	}
	return s.with(w, p, victim, s.signal)
}

// with sends a signal to the victim.
func (s strike) with(w *workspace, p *process, victim lab.Node, signal syscall.Signal) bool {
	switch s.victim {
	case "terraform":
		return syscall.Kill(p.pid(), signal) == nil
	case "provider":
		pids, err := exec.Command("pgrep", "-P", strconv.Itoa(p.pid()), "-f", "terraform-provider-slipway").Output()
		if err != nil {
			return false
		}
		var hit bool
		for pid := range strings.FieldsSeq(string(pids)) {
			n, err := strconv.Atoi(pid)
			hit = err == nil && syscall.Kill(n, signal) == nil || hit
		}
		return hit
	}
	find := `pid=$(pgrep -o -f '^/var/lib/slipway/helper-') || exit 1; `
	if s.victim == "session" {
		find += `while [ "$(cat /proc/$pid/comm)" != sshd ]; do pid=$(awk '{print $4}' /proc/$pid/stat); [ "$pid" -gt 1 ] || exit 1; done; `
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	command := victim.Command(find + fmt.Sprintf("kill -%d $pid", signal))
	return exec.CommandContext(ctx, command.Path, command.Args[1:]...).Run() == nil
}

// heal makes the node of a strike answer again.
func (s strike) heal(t *testing.T, victim lab.Node) {
	t.Helper()
	if s.mode != "" {
		victim.Heal(t)
	}
}

// progress is what the journal says of a run.
type progress struct {
	id                string
	started, finished int // tasks
}

// running returns the run of an operation that has not ended.
func (w *workspace) running(operation string) (p progress, ok bool) {
	file := filepath.Join(w.dir, ".slipway", "torture.db")
	if _, err := os.Stat(file); err != nil {
		return p, false
	}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: file, RawQuery: "mode=ro&_pragma=busy_timeout(1000)"}).String())
	if err != nil {
		return p, false
	}
	defer func() { _ = db.Close() }()
	err = db.QueryRow(`
		SELECT id, (SELECT count(*) FROM events WHERE run = id AND kind = 'task_started'), (SELECT count(*) FROM events WHERE run = id AND kind = 'task_finished')
		FROM runs WHERE operation = ? AND ended_at IS NULL ORDER BY started_at DESC LIMIT 1`, strings.Replace(operation, "destroy", "delete", 1)).Scan(&p.id, &p.started, &p.finished)
	return p, err == nil
}
