package site

import (
	"fmt"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// A module of Ansible is answered with the type that does the same, not with one that is spelt alike.
func TestAnsiblesModules(t *testing.T) {
	types := map[string]resource.Schema{}
	for _, name := range []string{"archive", "cron", "exec", "file", "file_line", "package", "service",
		"ssh_authorized_key", "vcsrepo"} {
		types[name] = resource.Schema{Type: name}
	}
	for module, want := range map[string]string{
		"apt": "package", "dnf": "package", "copy": "file", "template": "file", "lineinfile": "file_line",
		"authorized_key": "ssh_authorized_key", "systemd": "service", "git": "vcsrepo", "unarchive": "archive",
		"shell": "exec", "command": "exec", "corn": "cron",
	} {
		want = fmt.Sprintf("there is no configuration resource type %q; did you mean %q?", module, want)
		if got := UnknownTypeError("", "", "", module, types).Message; got != want {
			t.Errorf("%s; want %s", got, want)
		}
	}
	want := `there is no configuration resource type "git"; use one of file`
	if got := UnknownTypeError("", "", "", "git", map[string]resource.Schema{"file": {}}).Message; got != want {
		t.Errorf("%s; want %s", got, want)
	}
}
