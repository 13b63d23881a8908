package resources_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"github.com/hashicorp/terraform-plugin-testing/tfversion"

	"github.com/slipway/terraform-provider-slipway/planner/encryption/encryptiontest"
)

// Secrets of the tests (see [encryptiontest.Form]).
const secretOne, secretTwo = "a\"<correct-horse-battery-1>&b", "a\"<staple-quorum-verdant-2>&b"

// secretsIn returns an error for the first file below a folder that has a secret; of those in its own file, none.
func secretsIn(dir, own string, secrets ...string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || path == own {
			return err
		}
		content, err := os.ReadFile(path)
		for _, secret := range secrets {
			if form := encryptiontest.Form(content, secret); form != "" {
				return fmt.Errorf("%s has a secret (%s)", path, form)
			}
		}
		return err
	})
}

// nowhereBut is a check that neither state nor anything in the folders of the test, but for one file, has a secret.
func (s *sandbox) nowhereBut(file string, secrets ...string) resource.TestCheckFunc {
	return func(state *terraform.State) error {
		raw, err := json.Marshal(state)
		for _, secret := range secrets {
			if form := encryptiontest.Form(raw, secret); form != "" {
				return fmt.Errorf("the state has a secret (%s)", form)
			}
		}
		return errors.Join(err, secretsIn(s.dir, file, secrets...))
	}
}

// arguments collects the arguments of all processes until stop is called.
func arguments() (stop func() []byte) {
	end, done := make(chan struct{}), make(chan []byte)
	go func() {
		seen := map[string]bool{}
		for {
			select {
			case <-end:
				var all []byte
				for line := range seen {
					all = append(append(all, line...), '\n')
				}
				done <- all
				return
			default:
				found, _ := filepath.Glob("/proc/[0-9]*/cmdline")
				for _, path := range found {
					line, _ := os.ReadFile(path)
					seen[string(line)] = true
				}
			}
		}
	}()
	return func() []byte { close(end); return <-done }
}

// What Terraform stores, prints and logs, plan files, journal, ledger, report and arguments of processes have no secret,
// which is an ephemeral value.
func TestTextSecretNowhere(t *testing.T) {
	c, s := newCommandLine(t), &sandbox{t: t, dir: t.TempDir(), name: "lon1"}
	s.mkdir("a", "etc")
	c.configure(s.config([]string{"a"}, []string{"svc"}, `
variable "password" {
  type      = string
  ephemeral = true
}
variable "number" { type = number }
resource "slipway_service" "svc" {
  name          = "svc"
  selectors     = []
  configuration = { file = { "/etc/db" = { content = { secret = "db_password" }, mode = "0600" } } }
}
`, "secrets_wo = { db_password = var.password }\n  secrets_version = var.number\n"))
	t.Setenv("TF_LOG", "TRACE")
	t.Setenv("TF_LOG_PATH", filepath.Join(c.dir, "trace.log"))
	file := s.path("a", "etc/db")
	stop := arguments()
	for version, secret := range []string{secretOne, secretTwo} {
		t.Setenv("TF_VAR_password", secret)
		t.Setenv("TF_VAR_number", strconv.Itoa(version+1))
		c.write("printed.plan", c.run(0, "plan", "-input=false", "-no-color", "-out=plan.bin"))
		c.write("printed.json", c.run(0, "show", "-json", "plan.bin"))
		c.write("printed.apply", c.run(0, "apply", "-input=false", "-no-color", "plan.bin"))
		for _, format := range []string{"table", "json", "html", "markdown", "junit"} {
			c.write("printed.report."+format, s.companion(0, "report", "--output", format))
		}
		if got := s.content("a", "etc/db"); got != secret {
			t.Fatalf("the file is %q", got)
		}
		if err := errors.Join(secretsIn(s.dir, file, secretOne, secretTwo), secretsIn(c.dir, "", secretOne, secretTwo)); err != nil {
			t.Error(err)
		}
	}
	seen := stop()
	for _, secret := range []string{secretOne, secretTwo} {
		if form := encryptiontest.Form(seen, secret); form != "" {
			t.Errorf("the arguments of a process have a secret (%s)", form)
		}
	}
	trace, err := os.ReadFile(filepath.Join(c.dir, "trace.log"))
	if err != nil || len(trace) < 10_000 {
		t.Errorf("Terraform's log has %d bytes (%v)", len(trace), err)
	}
}

// A secret reaches its file and nothing else; its version plans it again, and another content of the same version does
// not; a file that others changed is drift, though no refresh knows the secret.
func TestSecretsReachNodesOnly(t *testing.T) {
	s := newSandbox(t, "a")
	config := func(secret string, version int) string {
		return s.config([]string{"a"}, []string{"svc"}, `
resource "slipway_service" "svc" {
  name          = "svc"
  selectors     = []
  configuration = { file = { "/etc/db" = { content = { secret = "db_password" }, mode = "0600" } } }
}
`, fmt.Sprintf("secrets_wo = { db_password = %q }\n  secrets_version = %d\n", secret, version))
	}
	one, two := secretOne, secretTwo
	file := s.path("a", "etc/db")
	resource.UnitTest(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		TerraformVersionChecks:   []tfversion.TerraformVersionCheck{tfversion.SkipBelow(tfversion.Version1_11_0)},
		Steps: []resource.TestStep{
			{Config: strings.Replace(config(one, 1), `secret = "db_password"`, `secret = "db_pasword"`, 1), PlanOnly: true,
				ExpectError: wrapped(`refers to the secret "db_pasword", which secrets_wo does not have; did you mean "db_password"`)},
			{Config: strings.Replace(config(one, 1), "{ file =", `{ file_line = { x = { path = "/etc/x", line = { secret = "db_password" } } }, file =`, 1), PlanOnly: true,
				ExpectError: wrapped(`line must not be a secret; only the content of a file can be one`)},
			{Config: strings.Replace(config(one, 1), `{ secret = "db_password" }`, `"⟦secret:db_password@1⟧"`, 1), PlanOnly: true,
				ExpectError: wrapped(`content: contains a text that stands for a secret; write`)},
			{Config: config(one, 1), ConfigStateChecks: []statecheck.StateCheck{status("deployed")},
				Check: resource.ComposeTestCheckFunc(s.has("a", "etc/db", one), s.nowhereBut(file, one))},
			{Config: config(two, 1), ConfigPlanChecks: nothingPlanned()},
			{Config: config(two, 2), ConfigPlanChecks: planned(plancheck.ResourceActionUpdate),
				Check: resource.ComposeTestCheckFunc(s.has("a", "etc/db", two), s.nowhereBut(file, one, two))},
			{PreConfig: func() { s.write("a", "etc/db", "drifted") }, Config: config(two, 2),
				ConfigPlanChecks: planned(plancheck.ResourceActionUpdate),
				Check:            resource.ComposeTestCheckFunc(s.has("a", "etc/db", two), s.nowhereBut(file, one, two))},
			{Config: config(two, 2), ConfigPlanChecks: nothingPlanned()},
		},
	})
}
