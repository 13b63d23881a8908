package types

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
)

// recorder stands for a node's commands: it notes each command line, and answers with what a real node printed.
type recorder struct {
	ran     []string
	stdin   []string
	answers map[string]system.Output   // by the start of the command line, the longest that fits; none is success
	effects map[string]func()          // what a command changes on the node
	env     map[string]map[string]bool // command line -> its environment
}

func (r *recorder) run(c system.Command) (system.Output, error) {
	line := strings.Join(c.Argv, " ")
	r.ran = append(r.ran, line)
	r.stdin = append(r.stdin, string(c.Stdin))
	env := map[string]bool{}
	for _, e := range c.Env {
		env[e] = true
	}
	if r.env == nil {
		r.env = map[string]map[string]bool{}
	}
	r.env[line] = env
	out, best := system.Output{}, ""
	for start, answer := range r.answers {
		if strings.HasPrefix(line, start) && len(start) > len(best) {
			out, best = answer, start
		}
	}
	effect, longest := func() {}, ""
	for start, e := range r.effects {
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

// prints is the answer of a command that succeeded.
func prints(text string) system.Output { return system.Output{Stdout: []byte(text)} }

// wantRan compares the commands that were run, apt-get's fixed options left out, with those wanted, and starts a new record.
func (r *recorder) wantRan(t *testing.T, want ...string) {
	t.Helper()
	var got []string
	for _, line := range r.ran {
		got = append(got, strings.Replace(line, aptOptions, "", 1))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
	r.ran, r.stdin = nil, nil
}

const aptOptions = " -y -q -o DPkg::Lock::Timeout=120 -o Dpkg::Use-Pty=0 -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold"
