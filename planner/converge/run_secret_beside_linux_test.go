package converge

import (
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
	"github.com/slipway/terraform-provider-slipway/planner/encryption/encryptiontest"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// A secret in one parameter does not hide how the others differ; of its own it says only that it does.
func TestDriftBesideSecrets(t *testing.T) {
	hidden := func(parameter string) types.Difference {
		return types.Difference{Parameter: parameter, Is: types.Hidden, Should: types.Hidden}
	}
	replace := func(file, old, by string) func(*sandbox) {
		return func(b *sandbox) { b.put(file, strings.ReplaceAll(b.get(file), old, by)) }
	}
	chmod := func(b *sandbox) {
		b.t.Helper()
		if err := os.Chmod(b.real("/d/f"), 0o644); err != nil {
			b.t.Fatal(err)
		}
	}
	shell := types.Difference{Parameter: "shell", Is: "/bin/sh", Should: "/bin/bash"}
	mode := types.Difference{Parameter: "mode", Is: "0644", Should: "0600"}
	command := types.Difference{Parameter: "command", Is: "/bin/false", Should: "/bin/true"}
	bob := item("user[bob]", "password", secretMark, "shell", "/bin/bash")
	file := item("file[/d/f]", "content", secretMark, "mode", "0600")
	job := item("cron[j]", "command", "/bin/true", "user", "root", "environment", []any{"P=" + secretMark})
	crontab, shadow := "/var/spool/cron/crontabs/root", "/etc/shadow"
	for name, tt := range map[string]struct {
		item   Item
		tamper []func(*sandbox)
		want   []types.Difference
	}{
		"user":          {bob, []func(*sandbox){replace("/etc/passwd", "/bin/bash", "/bin/sh")}, []types.Difference{shell}},
		"user, both":    {bob, []func(*sandbox){replace("/etc/passwd", "/bin/bash", "/bin/sh"), replace(shadow, secretOneText, "x")}, []types.Difference{shell, hidden("password")}},
		"file":          {file, []func(*sandbox){chmod}, []types.Difference{mode}},
		"file, both":    {file, []func(*sandbox){chmod, replace("/d/f", secretOneText, "x")}, []types.Difference{hidden("content"), mode}},
		"file, removed": {file, []func(*sandbox){func(b *sandbox) { _ = os.Remove(b.real("/d/f")) }}, []types.Difference{{Parameter: "ensure", Is: "absent", Should: "file"}}},
		"cron":          {job, []func(*sandbox){replace(crontab, "/bin/true", "/bin/false")}, []types.Difference{command}},
		"cron, both":    {job, []func(*sandbox){replace(crontab, "/bin/true", "/bin/false"), replace(crontab, secretOneText, "x")}, []types.Difference{command, hidden("environment")}},
		"all of it is sensitive": {
			item("user[bob]", "password", secretMark, "shell", "/bin/bash", "sensitive", true),
			[]func(*sandbox){replace("/etc/passwd", "/bin/bash", "/bin/sh")}, []types.Difference{hidden("shell")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var arguments []string
			b := secretNode(t, &arguments)
			secrets := map[string]string{"s@1": secretOneText}
			b.wantAll("apply", Changed, b.of("one", Manifest{Mode: Apply, Items: []Item{tt.item}, Secrets: secrets}))
			for _, tamper := range tt.tamper {
				tamper(b)
			}
			for _, m := range []Manifest{{Mode: Check}, {Mode: Check, Secrets: secrets}, {Mode: Apply, Secrets: secrets}} {
				m.Items = []Item{tt.item}
				if diff := cmp.Diff(tt.want, b.of("one", m)[0].Differences); diff != "" {
					t.Errorf("%s, with secrets %v:\n%s", m.Mode, m.Secrets != nil, diff)
				}
			}
		})
	}
}

// Of the types, whatever they say: a difference is shown only of a parameter that is given and has no secret.
func TestDifferencesShownBesideSecrets(t *testing.T) {
	for _, tt := range secretCases() {
		for _, s := range schema.Types() {
			if s.Type != tt.item.Type {
				continue
			}
			j := &operation{Item: tt.item, id: tt.item.ID(), typ: types.All[s.Type]}
			x := &session{manifest: Manifest{Secrets: map[string]string{"s@1": tt.one}}}
			if err := x.resolveSecrets(j, s); err != nil {
				t.Fatal(err)
			}
			r := Result{Message: "it has " + tt.one}
			for _, name := range []string{"content", "object", "of no schema"} {
				r.Differences = append(r.Differences, types.Difference{Parameter: name, Is: tt.one, Should: tt.two})
			}
			for _, p := range s.Parameters {
				r.Differences = append(r.Differences, types.Difference{Parameter: p.Name, Is: "as it is", Should: tt.one[:10] + tt.two})
			}
			j.redact(&r)
			for _, d := range r.Differences {
				of := tt.item.Parameters[d.Parameter]
				text, plain := of.(string)
				plain = plain && d.Parameter != "password" && d.Parameter != "basic_auth_password" && !resource.SecretIn(text)
				if shown := d.Is != types.Hidden; plain && !shown || shown && d.Is != "as it is" {
					t.Errorf("%s %s: %s", tt.item.Type, tt.parameter, d)
				}
				if resource.SecretIn(text) && d.Should != types.Hidden {
					t.Errorf("%s %s: %s", tt.item.Type, tt.parameter, d)
				}
			}
			if form := encryptiontest.Form([]byte(r.Message), tt.one); form != "" {
				t.Errorf("%s %s: %s", tt.item.Type, tt.parameter, r.Message)
			}
		}
	}
}

// Of the file with a password that is no secret of the deployment a check has no digest of the content.
func TestDriftOfPlainPasswords(t *testing.T) {
	for _, tt := range secretCases() {
		if tt.parameter != "password" || !strings.HasSuffix(tt.item.Type, "_repository") {
			continue
		}
		var arguments []string
		b := secretNode(t, &arguments)
		i := tt.item
		i.Parameters = maps.Clone(i.Parameters)
		i.Parameters["password"] = secretOneText
		i.Digest = resource.Digest(i.Resource)
		b.wantAll("apply", Changed, b.of("one", Manifest{Mode: Apply, Items: []Item{i}}))
		b.put(tt.file, "tampered")
		r := b.of("one", Manifest{Mode: Check, Items: []Item{i}})[0]
		if len(r.Differences) != 1 || r.Differences[0].Is != types.Hidden || r.Differences[0].Should != types.Hidden {
			t.Errorf("%s: %s %v", i.ID(), r.Message, r.Differences)
		}
	}
}
