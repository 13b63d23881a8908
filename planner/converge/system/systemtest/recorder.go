package systemtest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
)

// Recorder stands for a node's commands: it notes each command line, and answers with what a real node printed.
type Recorder struct {
	Ran     []string                   // each command line
	Stdin   []string                   // what each was given to read
	Answers map[string]system.Output   // by the start of the command line, the longest that fits; none is success
	Effects map[string]func()          // what a command changes on the node
	Env     map[string]map[string]bool // command line -> its environment
}

// Run notes a command, has its effect and returns its answer.
func (r *Recorder) Run(c system.Command) (system.Output, error) {
	line := strings.Join(c.Argv, " ")
	r.Ran = append(r.Ran, line)
	r.Stdin = append(r.Stdin, string(c.Stdin))
	env := map[string]bool{}
	for _, e := range c.Env {
		env[e] = true
	}
	if r.Env == nil {
		r.Env = map[string]map[string]bool{}
	}
	r.Env[line] = env
	out, best := system.Output{}, ""
	for start, answer := range r.Answers {
		if strings.HasPrefix(line, start) && len(start) > len(best) {
			out, best = answer, start
		}
	}
	effect, longest := func() {}, ""
	for start, e := range r.Effects {
		if strings.HasPrefix(line, start) && len(start) > len(longest) {
			effect, longest = e, start
		}
	}
	effect()
	if out.Combined == "" {
		out.Combined = string(out.Stdout)
	}
	return out, nil
}

// Prints is the answer of a command that succeeded.
func Prints(text string) system.Output { return system.Output{Stdout: []byte(text)} }

// WantRan compares the commands that were run, apt-get's fixed options left out, with those wanted, and starts a new
// record.
func (r *Recorder) WantRan(t *testing.T, want ...string) {
	t.Helper()
	var got []string
	for _, line := range r.Ran {
		got = append(got, strings.Replace(line, AptOptions, "", 1))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
	r.Ran, r.Stdin = nil, nil
}

// AptOptions are what each apt-get of slipway begins with.
const AptOptions = " -y -q -o DPkg::Lock::Timeout=120 -o Dpkg::Use-Pty=0 -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold"
