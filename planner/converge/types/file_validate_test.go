package types

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// A content that is not valid never takes the place of the old one, and nothing is left beside it.
func TestFileValidate(t *testing.T) {
	s := folder(t, map[string]string{"etc/x": "old"})
	s.Commands = func(ctx context.Context, c system.Command) (system.Output, error) {
		for i := range c.Argv { // the sandbox's paths
			c.Argv[i] = strings.ReplaceAll(c.Argv[i], "/etc/", filepath.Join(s.Root, "etc")+"/")
		}
		cmd := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
		out, _ := cmd.CombinedOutput()
		return system.Output{Status: cmd.ProcessState.ExitCode(), Combined: string(out)}, nil
	}
	for _, tt := range []struct {
		content, now string
		command      any
		want         string
	}{
		{"bad", "old", "grep -q good '%' || { echo no good; false; }", `validate_cmd: the command "grep -q good '%' || { echo no good; false; }": it ended with status 1, so the file was left as it is; its output ends with: no good`},
		{"bad", "old", []any{"grep", "-q", "good", "%"}, "status 1"},
		{"good", "good", "test $(stat -c %a %) = 600 && grep -q good %", "status"}, // every % is the path
		{"good", "good", "grep -q good %", ""},
		{"as good", "as good", []any{"grep", "-q", "good", "%"}, ""},
	} {
		err := fileType{}.Apply(t.Context(), s, res(t, fileType{}, "/etc/x",
			resource.Parameters{"content": tt.content, "validate_cmd": tt.command}))
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v: %v, want %s", tt.command, err, tt.want)
		}
		if is, readErr := s.ReadFile("/etc/x"); readErr != nil || err == nil && string(is) != tt.now || err != nil && string(is) != "old" {
			t.Errorf("%v: %q, %v", tt.command, is, readErr)
		}
		if names, err := s.ReadDir("/etc"); err != nil || len(names) != 1 {
			t.Errorf("%v: %v, %v", tt.command, names, err)
		}
	}
}
