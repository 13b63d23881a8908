package release

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Under the name slipway, with or without a version behind it, the program is the companion, also where a program that
// Terraform started, as the provider "external" does, starts it. It calls itself by that name.
func TestSlipwayIsTheCompanion(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "terraform-provider-slipway")
	if out, err := exec.Command("go", "build", "-o", program, "../..").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for name, called := range map[string]string{
		"terraform-provider-slipway":        "terraform-provider-slipway",
		"terraform-provider-slipway_v0.6.0": "terraform-provider-slipway",
		"slipway":                           "slipway",
		"slipway-0.6.0":                     "slipway",
		"slipway_v0.6.0":                    "slipway",
		"slipway.exe":                       "slipway",
		"slipwayx":                          "terraform-provider-slipway",
	} {
		link := filepath.Join(dir, name)
		if link != program {
			if err := os.Symlink(program, link); err != nil {
				t.Fatal(err)
			}
		}
		run := func(args ...string) string {
			cmd := exec.Command(link, args...)
			cmd.Env = os.Environ()
			if called == "slipway" {
				cmd.Env = append(cmd.Env, "TF_PLUGIN_MAGIC_COOKIE=of another provider")
			}
			out, _ := cmd.CombinedOutput()
			return string(out)
		}
		for _, tt := range []struct {
			args []string
			want string
		}{
			{[]string{"--version"}, called + " version "},
			{[]string{"plan", "--help"}, "\n  " + called + " plan FILE..."},
			{[]string{"runs", "nonsense"}, called + " runs takes no arguments"},
			{[]string{"completion", "bash"}, "complete -o default -F __start_" + called + " " + called},
		} {
			if got := run(tt.args...); !strings.Contains(got, tt.want) {
				t.Errorf("%s %s: prints %.300q, want %q", name, strings.Join(tt.args, " "), got, tt.want)
			}
		}
	}
}
