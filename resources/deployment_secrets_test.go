package resources_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
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

// secretsIn returns an error for the first file below a folder that has a secret; of those in its own files, none.
func secretsIn(dir string, own []string, secrets ...string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || slices.Contains(own, path) {
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

// nowhereBut is a check that neither state nor anything in the folders of the test, but for some files, has a secret.
func (s *sandbox) nowhereBut(files []string, secrets ...string) resource.TestCheckFunc {
	return func(state *terraform.State) error {
		raw, err := json.Marshal(state)
		for _, secret := range secrets {
			if form := encryptiontest.Form(raw, secret); form != "" {
				return fmt.Errorf("the state has a secret (%s)", form)
			}
		}
		return errors.Join(err, secretsIn(s.dir, files, secrets...))
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

// secretly are resources with the secret db_password in parameters of several types.
const secretly = `{
  file         = { "/etc/db" = { content = { secret = "db_password" }, mode = "0600" } }
  file_line    = { line = { path = "/etc/line", line = { template = "password=$${secrets.db_password}" } } }
  ini_setting  = { ini = { path = "/etc/ini", section = "db", setting = "password", value = { secret = "db_password" } } }
  systemd_unit = { "app.service" = { content = { template = "[Service]\nEnvironment=P=$${secrets.db_password}\n" } } }
  cron         = { job = { command = "/bin/true", environment = ["A=1", { template = "P=$${secrets.db_password}" }] } }
}`

// secretFiles are the files of secretly on a node, with what the node has of the secret in each.
func (s *sandbox) secretFiles(secret string) (files []string, missing error) {
	for name, want := range map[string]string{"etc/db": secret, "etc/line": "password=" + secret + "\n", "etc/ini": "[db]\npassword = " + secret + "\n",
		"etc/systemd/system/app.service": "[Service]\nEnvironment=P=" + secret + "\n", "var/spool/cron/crontabs/root": "\nP=" + secret + "\n"} {
		files = append(files, s.path("a", name))
		if secret == "" {
			continue
		}
		info, err := os.Stat(s.path("a", name))
		if err != nil || !strings.Contains(s.content("a", name), want) || info.Mode().Perm() != 0o600 {
			missing = errors.Join(missing, err, fmt.Errorf("%s has %q, %v", name, s.content("a", name), info.Mode()))
		}
	}
	return files, missing
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
  configuration = `+secretly+`
}
`, "secrets_wo = { db_password = var.password }\n  secrets_version = var.number\n"))
	t.Setenv("TF_LOG", "TRACE")
	t.Setenv("TF_LOG_PATH", filepath.Join(c.dir, "trace.log"))
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
		files, err := s.secretFiles(secret)
		if err := errors.Join(err, secretsIn(s.dir, files, secretOne, secretTwo), secretsIn(c.dir, nil, secretOne, secretTwo)); err != nil {
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
  configuration = `+secretly+`
}
`, fmt.Sprintf("secrets_wo = { db_password = %q }\n  secrets_version = %d\n", secret, version))
	}
	one, two := secretOne, secretTwo
	has := func(secret string) resource.TestCheckFunc {
		return func(state *terraform.State) error {
			files, err := s.secretFiles(secret)
			return errors.Join(err, s.nowhereBut(files, one, two)(state))
		}
	}
	resource.UnitTest(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		TerraformVersionChecks:   []tfversion.TerraformVersionCheck{tfversion.SkipBelow(tfversion.Version1_11_0)},
		Steps: []resource.TestStep{
			{Config: strings.Replace(config(one, 1), `secret = "db_password"`, `secret = "db_pasword"`, 1), PlanOnly: true,
				ExpectError: wrapped(`refers to the secret "db_pasword", which secrets_wo does not have; did you mean "db_password"`)},
			{Config: strings.Replace(config(one, 1), "command = ", `minute = { secret = "db_password" }, command = `, 1), PlanOnly: true,
				ExpectError: wrapped(`minute: takes no secret of the deployment, which others could read there; of the type cron, what takes one is environment; else write it into the content of a file with mode "0600"`)},
			{Config: strings.Replace(config(one, 1), "P=$${secrets.db_password}", "P=$${upper(secrets.db_password)}", 1), PlanOnly: true,
				ExpectError: wrapped("a secret can only stand by itself")},
			{Config: strings.Replace(config(one, 1), `{ secret = "db_password" }`, `"⟦secret:db_password@1⟧"`, 1), PlanOnly: true,
				ExpectError: wrapped(`content: contains a text that stands for a secret; write`)},
			{Config: strings.Replace(config(one, 1), fmt.Sprintf("%q", one), "null", 1),
				ExpectError: wrapped(`refers to the secret "db_password", which is null in secrets_wo; give it a value`)},
			{Config: config(one, 1), ConfigStateChecks: []statecheck.StateCheck{status("deployed")}, Check: has(one)},
			{Config: config(two, 1), ConfigPlanChecks: nothingPlanned()},
			{Config: config(two, 2), ConfigPlanChecks: planned(plancheck.ResourceActionUpdate), Check: has(two)},
			{PreConfig: func() { s.write("a", "etc/db", "drifted") }, Config: config(two, 2),
				ConfigPlanChecks: planned(plancheck.ResourceActionUpdate), Check: has(two)},
			{PreConfig: func() { s.write("a", "etc/line", "password=drifted\n") }, Config: config(two, 2),
				ConfigPlanChecks: planned(plancheck.ResourceActionUpdate), Check: has(two)},
			{PreConfig: func() { s.write("a", "var/spool/cron/crontabs/root", "") }, Config: config(two, 2),
				ConfigPlanChecks: planned(plancheck.ResourceActionUpdate), Check: has(two)},
			{Config: config(two, 2), ConfigPlanChecks: nothingPlanned()},
		},
	})
}

// A secret that a parameter refuses is an error of the plan where its content is known, and says nothing of it. Where it
// is known only in the apply, it is one before any node is touched.
func TestSecretThatAParameterRefuses(t *testing.T) {
	s := newSandbox(t, "a")
	config := func(content string) string {
		return s.config([]string{"a"}, []string{"svc"}, `
variable "later" { default = "x" }
resource "terraform_data" "later" { input = var.later }
resource "slipway_service" "svc" {
  name      = "svc"
  selectors = []
  configuration = {
    file      = { "/etc/first" = { content = "x" } }
    file_line = { line = { path = "/etc/line", line = { template = "a$${secrets.pw}" }, require = "file[/etc/first]" } }
    cron      = { job = { command = "/bin/true", environment = [{ secret = "other" }] } }
  }
}
`, "secrets_wo = { pw = "+content+", other = \"A=1\" }\n  secrets_version = 1\n")
	}
	refused := wrapped(`service "svc", configuration.file_line\["line"\].line: contains a line break or a NUL; it must be one ` +
		`line of text; the value is not shown because it is sensitive; it has the secret "pw"`)
	untouched := func() {
		if s.content("a", "etc/first") != "-" {
			t.Error("the node was touched")
		}
	}
	resource.UnitTest(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		TerraformVersionChecks:   []tfversion.TerraformVersionCheck{tfversion.SkipBelow(tfversion.Version1_11_0)},
		Steps: []resource.TestStep{
			{Config: config(`"wal\nrus"`), PlanOnly: true, ExpectError: refused},
			{PreConfig: untouched, Config: config(`"wal${terraform_data.later.id}\nrus"`), ExpectError: refused},
			{PreConfig: untouched, Config: config(`"walrus"`), ConfigStateChecks: []statecheck.StateCheck{status("deployed")}},
			{Config: config(`"wal\nrus"`), ConfigPlanChecks: nothingPlanned()}, // nothing is sent
		},
	})
}
