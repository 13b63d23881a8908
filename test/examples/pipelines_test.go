package examples

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/slipway/terraform-provider-slipway/planner/command"
)

// The companion understands what the pipelines ask of it.
func TestPipelines(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(top, "examples/ci/*.yml"))
	if err != nil || len(files) != 2 {
		t.Fatalf("%q, %v", files, err)
	}
	line := regexp.MustCompile(`(?m)(?:^|- )\s*terraform-provider-slipway ([^>#\n]*)`)
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var pipeline map[string]any
		if err := yaml.Unmarshal(content, &pipeline); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		// GitLab takes these keywords as defaults of all jobs, and no other (https://docs.gitlab.com/ci/yaml/#default).
		defaults, _ := pipeline["default"].(map[string]any)
		for key := range defaults {
			if !slices.Contains([]string{"after_script", "artifacts", "before_script", "cache", "hooks", "id_tokens", "image", "interruptible",
				"retry", "services", "tags", "timeout"}, key) {
				t.Errorf("%s: default: %s is not a keyword that has a default", file, key)
			}
		}
		matches := line.FindAllSubmatch(content, -1)
		var used []string
		for _, m := range matches {
			root := command.New("test", nil, "")
			cmd, args, err := root.Find(strings.Fields(strings.ReplaceAll(string(m[1]), `"`, "")))
			if err == nil {
				err = cmd.ParseFlags(args)
			}
			if err == nil {
				err = cmd.Args(cmd, cmd.Flags().Args())
			}
			if err != nil {
				t.Errorf("%s: %s: %v", file, m[0], err)
			}
			used = append(used, cmd.Name())
		}
		for _, want := range []string{"plan", "report"} {
			if !slices.Contains(used, want) {
				t.Errorf("%s uses the commands %q, not %s", file, used, want)
			}
		}
	}
}
