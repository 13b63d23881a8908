package resources_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/encryption/encryptiontest"
	"github.com/slipway/terraform-provider-slipway/planner/journal/postgrestest"
	"github.com/slipway/terraform-provider-slipway/planner/temporal/temporaltest"
)

// What a run that is handed over leaves in PostgreSQL and in the database of Temporal has no secret: neither a value
// that Terraform marks as sensitive nor one of secrets_wo, and not the key.
func TestTextEngineSecretNowhere(t *testing.T) {
	database := postgrestest.Start(t)
	s := &cluster{newSandbox(t, "a"), temporaltest.Start(t)}
	s.journal = database.URL(t)
	c := newCommandLine(t)
	s.worker()
	c.write("terraform.tfvars", fmt.Sprintf("marked = %q\nephemeral = %q\n", secretOne, secretTwo))
	c.configure(s.engine(s.config([]string{"a"}, []string{"svc"}, `
variable "marked" { sensitive = true }
variable "ephemeral" {
  type      = string
  ephemeral = true
}
resource "slipway_service" "svc" {
  name          = "svc"
  selectors     = []
  configuration = {
    file = {
      "/etc/marked"    = { content = var.marked, mode = "0600" }
      "/etc/ephemeral" = { content = { secret = "one" }, mode = "0600" }
    }
    file_line = { line = { path = "/etc/line", line = { template = "password=$${secrets.one}" } } }
  }
}
`, "secrets_wo = { one = var.ephemeral }\n  secrets_version = 1\n"), ""))
	c.apply()
	for name, want := range map[string]string{"etc/marked": secretOne, "etc/ephemeral": secretTwo, "etc/line": "password=" + secretTwo + "\n"} {
		if got := s.content("a", name); got != want {
			t.Fatalf("%s is %q", name, got)
		}
	}
	dump, err := database.Dump(s.journal)
	if err != nil {
		t.Fatal(err)
	}
	s.server.Stop(t)
	files, err := filepath.Glob(s.server.File + "*")
	if err != nil {
		t.Fatal(err)
	}
	var stored []byte
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		stored = append(stored, text...)
	}
	for what, text := range map[string][]byte{"PostgreSQL": dump, "Temporal": stored} {
		if !bytes.Contains(text, []byte("slipway-")) && !bytes.Contains(text, []byte("slipway_")) {
			t.Errorf("%s: %d bytes without a run", what, len(text))
		}
		for _, secret := range []string{secretOne, secretTwo, key} {
			if form := encryptiontest.Form(text, secret); form != "" {
				t.Errorf("%s has a secret (%s)", what, form)
			}
		}
	}
}
