package resources_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/slipway/terraform-provider-slipway/planner/command"
)

// report returns what the companion prints of the newest run.
func (s *sandbox) report() string {
	s.t.Helper()
	cmd := command.New("test", nil, "")
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs([]string{"report", "--journal-directory", filepath.Join(s.dir, "journal"), "--site", s.name})
	s.must(cmd.ExecuteContext(s.t.Context()))
	return out.String()
}

// kept returns everything that is kept of a run: the report and the journal's file.
func (s *sandbox) kept(state *terraform.State) string {
	s.t.Helper()
	raw, err := os.ReadFile(filepath.Join(s.dir, "journal", s.name+".db"))
	s.must(err)
	log, err := os.ReadFile(filepath.Join(s.dir, "journal", s.name+".db-wal"))
	if err != nil && !os.IsNotExist(err) {
		s.t.Fatal(err)
	}
	r := state.RootModule().Resources[deployment].Primary.Attributes
	return s.report() + r["drift.0.change"] + string(raw) + string(log)
}

// A changed text is shown line by line, in drift and in the report of the run that repairs it.
func TestContentIsShownAsDiff(t *testing.T) {
	s := newSandbox(t, "a")
	text := func(third string) string { return "one\ntwo\n" + third + "\nfour\nfive\nsix\nseven\neight\n" }
	config := s.config([]string{"a"}, []string{"f"}, files("f", map[string]string{"/etc/f": text("three")}), "")
	updated := s.config([]string{"a"}, []string{"f"}, files("f", map[string]string{"/etc/f": text("3")}), "")
	back := "@@ -1,6 +1,6 @@\n one\n two\n-by hand\n+three\n four\n five\n six\n"
	reported := func(diff string) resource.TestCheckFunc {
		return func(*terraform.State) error {
			if out := s.report(); !strings.Contains(strings.ReplaceAll(out, "\n    ", "\n"), "a: file[/etc/f]: content:\n"+diff) {
				return fmt.Errorf("the report has no diff:\n%s", out)
			}
			return nil
		}
	}
	run(t, []resource.TestStep{
		{Config: config},
		{
			PreConfig:    func() { s.write("a", "etc/f", text("by hand\x1b[2J")) },
			RefreshState: true, ExpectNonEmptyPlan: true,
			Check: resource.TestMatchResourceAttr(deployment, "drift.0.change", regexp.MustCompile(
				`^content is \{sha256\}[0-9a-f]{8}, should be \{sha256\}[0-9a-f]{8}\n`+regexp.QuoteMeta(strings.TrimSuffix(strings.Replace(back, "by hand", "by hand[2J", 1), "\n"))+`$`)),
		},
		{PreConfig: func() { s.write("a", "etc/f", text("by hand")) }, Config: config, Check: reported(back)},
		{Config: updated, Check: reported("@@ -1,6 +1,6 @@\n one\n two\n-three\n+3\n four\n five\n six\n")},
	}, s.gone("a"))
}

// What not every user of a node may read, and what the configuration calls sensitive, is in no diff: not in the state's
// drift, the report or the journal.
func TestSecretsAreInNoDiff(t *testing.T) {
	for name, c := range map[string]struct{ dir, file, body string }{
		"sensitive":        {"etc", "etc/f", `"/etc/f" = { content = "a\nhunter2\n%s\n", mode = "0644", sensitive = true }`},
		"mode":             {"etc", "etc/f", `"/etc/f" = { content = "a\nhunter2\n%s\n", mode = "0640" }`},
		"mode on the node": {"etc", "etc/f", `"/etc/f" = { content = "a\nhunter2\n%s\n" }`},
		"closed directory": {"etc/closed", "etc/closed/f", `"/etc/closed/f" = { content = "a\nhunter2\n%s\n", mode = "0644" }`},
		"not text":         {"etc", "etc/f", `"/etc/f" = { content = "a\nhunter2\n%s\n\u0000", mode = "0644" }`},
		"more than 64 KiB": {"etc", "etc/f", `"/etc/f" = { content = "${join("\n", [for i in range(1000) : "hunter2 ${join("", [for j in range(70) : "x"])}"])}%s", mode = "0644" }`},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSandbox(t, "a")
			s.mkdir("a", c.dir)
			if strings.HasSuffix(c.dir, "closed") {
				s.must(os.Chmod(s.path("a", c.dir), 0o750))
			}
			if name == "mode on the node" {
				s.write("a", c.file, "before\n")
				s.must(os.Chmod(s.path("a", c.file), 0o600))
			}
			config := func(line string) string {
				service := "resource \"slipway_service\" \"f\" {\n  name = \"f\"\n  selectors = []\n  configuration = { file = {\n" + fmt.Sprintf(c.body, line) + "\n  } }\n}\n"
				return s.config([]string{"a"}, []string{"f"}, service, "")
			}
			hidden := func(state *terraform.State) error {
				if kept := s.kept(state); strings.Contains(kept, "hunter2") {
					return fmt.Errorf("the secret is kept:\n%s", s.report())
				}
				return nil
			}
			run(t, []resource.TestStep{
				{Config: config("one"), Check: hidden},
				{Config: config("two"), Check: hidden},
				{
					PreConfig: func() {
						s.must(os.WriteFile(s.path("a", c.file), []byte("a\nhunter2\nby hand\n"), 0o600)) // keeps the mode
					},
					RefreshState: true, ExpectNonEmptyPlan: true, Check: hidden,
				},
				{Config: config("two"), Check: hidden},
			}, s.gone("a"))
		})
	}
}
