package types

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

func TestExecWithoutTimeout(t *testing.T) {
	r := resource.Resource{Type: "exec", Title: "x", Parameters: resource.Parameters{"timeout": int64(0)}}
	if c := (execType{}).command(r, []string{"x"}); c.Timeout >= 0 {
		t.Errorf("timeout 0 gives %s", c.Timeout)
	}
}

func TestExecTries(t *testing.T) {
	const line = "/bin/sh -c probe"
	left := 0 // tries that fail
	r := &recorder{Answers: map[string]system.Output{}}
	r.Effects = map[string]func(){line: func() {
		if left--; left <= 0 {
			r.Answers[line] = system.Output{Status: 0}
		}
	}}
	s := systemdNode(t, r)
	for _, tt := range []struct {
		fails, ran int
		works      bool
	}{{0, 1, true}, {2, 3, true}, {3, 3, false}} {
		r.Ran, left, r.Answers[line] = nil, tt.fails, system.Output{Status: 7, Combined: "not yet"}
		if tt.fails == 0 {
			r.Answers[line] = system.Output{}
		}
		err := execType{}.Apply(t.Context(), s, res(t, execType{}, "probe", resource.Parameters{"tries": int64(3)}))
		if (err == nil) != tt.works || len(r.Ran) != tt.ran {
			t.Errorf("%d failures: ran %d times, %v", tt.fails, len(r.Ran), err)
		}
		if err != nil && !strings.Contains(err.Error(), "status 7") {
			t.Error(err)
		}
	}
}

func TestExecUmask(t *testing.T) {
	for _, command := range []any{"umask", []any{"/bin/sh", "-c", "umask"}} {
		r := res(t, execType{}, "x", resource.Parameters{"command": command, "umask": "0077"})
		argv := (execType{}).command(r, r.Parameters.Strings("command")).Argv
		out, err := exec.CommandContext(t.Context(), argv[0], argv[1:]...).Output()
		if err != nil || strings.TrimSpace(string(out)) != "0077" {
			t.Errorf("%v: %q %v", command, out, err)
		}
	}
}
