package converge

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/converge/ledger"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/encryption/encryptiontest"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// secretCase is a parameter with a secret.
type secretCase struct {
	parameter string
	item      Item
	one, two  string // contents of the secret, each of them valid, that are found nowhere by chance
	file      string // where the node has it; empty: nowhere
	mode      fs.FileMode
	tamper    func(content string) string // what others make of the file
}

const (
	secretMark    = "⟦secret:s@1⟧"
	secretOneText = "correct-horse-battery-staple-one"
	secretTwoText = "quorum-verdant-lantern-oblong-two"
)

// sshKey is a public key of ed25519.
func sshKey(fill string) string {
	return base64.StdEncoding.EncodeToString([]byte("\x00\x00\x00\x0bssh-ed25519\x00\x00\x00\x20" + fill[:32]))
}

func secretCases() []secretCase {
	replaced := func(content string) string {
		for _, known := range []string{secretOneText, secretTwoText, sshKey(secretOneText), sshKey(secretTwoText)} {
			content = strings.ReplaceAll(content, known, "tampered")
		}
		return content
	}
	rows := []secretCase{
		{parameter: "content", item: item("file[/d/f]", "content", "a "+secretMark+"\n"), file: "/d/f", mode: 0o600, tamper: replaced},
		{parameter: "content_base64", item: item("file[/d/f]", "content_base64", secretMark, "mode", "0600"), file: "/d/f", mode: 0o600,
			one: base64.StdEncoding.EncodeToString([]byte(secretOneText)), two: base64.StdEncoding.EncodeToString([]byte(secretTwoText)), tamper: replaced},
		{parameter: "line", item: item("file_line[x]", "path", "/d/l", "line", secretMark), file: "/d/l", mode: 0o600, tamper: func(string) string { return "" }},
		{parameter: "line", item: item("file_line[y]", "path", "/d/l", "line", "password="+secretMark, "match", "^password="), file: "/d/l", mode: 0o600, tamper: replaced},
		{parameter: "value", item: item("ini_setting[x]", "path", "/d/i", "section", "s", "setting", "k", "value", secretMark), file: "/d/i", mode: 0o600, tamper: replaced},
		{parameter: "password", item: item("user[bob]", "password", "$6$"+secretMark), file: "/etc/shadow", tamper: replaced},
		{parameter: "content", item: item("systemd_unit[a.service]", "content", "[Service]\nEnvironment=P="+secretMark+"\n"), file: "/etc/systemd/system/a.service", mode: 0o600, tamper: replaced},
		{parameter: "environment", item: item("cron[j]", "command", "/bin/true", "user", "root", "environment", []any{"A=1", "P=" + secretMark}),
			file: "/var/spool/cron/crontabs/root", mode: 0o600, tamper: replaced},
		{parameter: "key", item: item("ssh_authorized_key[k]", "target", "/d/keys", "type", "ssh-ed25519", "key", secretMark),
			file: "/d/keys", mode: 0o600, one: sshKey(secretOneText), two: sshKey(secretTwoText), tamper: replaced},
		{parameter: "environment", item: item("exec[x]", "command", "ok", "environment", []any{"P=" + secretMark})},
		{parameter: "username", item: item("archive[/d/a.tar.copy]", "source", "https://x/a", "checksum", archiveSum, "username", secretMark, "password", "p")},
		{parameter: "password", item: item("archive[/d/a.tar.copy]", "source", "https://x/a", "checksum", archiveSum, "username", "u", "password", secretMark)},
		{parameter: "source", item: item("archive[/d/a.tar.copy]", "source", "https://x/a?token="+secretMark, "checksum", archiveSum)},
		{parameter: "basic_auth_username", item: item("vcsrepo[/d/clone]", "source", "https://x/y", "basic_auth_username", secretMark, "basic_auth_password", "p")},
		{parameter: "basic_auth_password", item: item("vcsrepo[/d/clone]", "source", "https://x/y", "basic_auth_username", "u", "basic_auth_password", secretMark)},
	}
	for _, typ := range []string{"apt_repository", "yum_repository"} {
		for _, parameter := range []string{"username", "password"} {
			i := item("apt_repository[r]", "location", "https://x/deb", "release", "./", "username", "u", "password", "p")
			file := "/etc/apt/auth.conf.d/r.conf"
			if typ == "yum_repository" {
				i, file = item("yum_repository[r]", "baseurl", "https://x/rpm", "username", "u", "password", "p"), "/etc/yum.repos.d/r.repo"
			}
			i.Parameters[parameter] = secretMark
			i.Digest = resource.Digest(i.Resource)
			rows = append(rows, secretCase{parameter: parameter, item: i, file: file, mode: 0o600, tamper: replaced})
		}
	}
	for i := range rows {
		if rows[i].one == "" {
			rows[i].one, rows[i].two = secretOneText, secretTwoText
		}
	}
	return rows
}

// archiveSum is the checksum of what the node of these tests fetches.
var archiveSum = resource.SHA256("archive")

// secretNode is a node on which resources of all types can be applied. arguments gets the arguments of all commands.
func secretNode(t *testing.T, arguments *[]string) *sandbox {
	s := absentNode(t)
	onDisk(t, s, "/usr/bin/curl", "")
	onDisk(t, s, "/usr/sbin/chpasswd", "")
	for _, program := range []string{"/usr/bin/curl", "/usr/sbin/chpasswd"} {
		if err := os.Chmod(filepath.Join(s.Root, program), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	inner := s.Commands
	s.Commands = func(ctx context.Context, c system.Command) (system.Output, error) {
		*arguments = append(*arguments, c.Argv...)
		switch {
		case strings.HasSuffix(c.Argv[0], "curl"):
			onDisk(t, s, archiveFileOf(string(c.Stdin)), "archive")
			return system.Output{}, nil
		case c.Argv[0] == "chpasswd":
			name, hash, _ := strings.Cut(strings.TrimSpace(string(c.Stdin)), ":")
			onDisk(t, s, "/etc/shadow", name+":"+hash+":1:0:99999:7:::\n")
			return system.Output{}, nil
		case c.Argv[0] == "userdel":
			onDisk(t, s, "/etc/shadow", "")
		case c.Argv[0] == "/bin/sh":
			said := strings.Join(c.Env, " ")
			return system.Output{Stdout: []byte(said), Combined: said + "\n" + base64.StdEncoding.EncodeToString([]byte(said))}, nil
		case strings.HasPrefix(c.Argv[0], "/usr/bin/git"):
			words := slices.DeleteFunc(slices.Clone(c.Argv), func(w string) bool {
				return w == "-c" || strings.HasPrefix(w, "credential.")
			})
			c.Argv = words
		}
		return inner(ctx, c)
	}
	return &sandbox{Session: s, dir: s.Root, t: t}
}

// archiveFileOf returns the file into which curl's settings say to write.
func archiveFileOf(settings string) string {
	_, rest, _ := strings.Cut(settings, `output = "`)
	file, _, _ := strings.Cut(rest, `"`)
	return file
}

// secretsOfSlipway returns the files of slipway on the node that have a secret, and may not: copies of what was there
// before are closed, and of nobody but root.
func (b *sandbox) secretsOfSlipway(secrets ...string) (found []string) {
	b.t.Helper()
	err := filepath.WalkDir(b.real(system.Home), func(file string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		info, err := d.Info()
		kept := strings.HasPrefix(file, b.real(system.BackupPath)) && info.Mode().Perm() == 0o600
		for _, secret := range secrets {
			if form := encryptiontest.Form(content, secret); form != "" && !kept {
				found = append(found, file+": "+form)
			}
		}
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return found
}

// A secret in any parameter that takes one reaches its place and nothing else; a check without it finds drift, and none
// where there is none; another version replaces it; undo takes it away.
func TestSecretsOfTypes(t *testing.T) {
	untried := map[string]bool{}
	for _, s := range schema.Types() {
		for _, p := range s.Parameters {
			if p.Secret && p.Name != schema.Template { // of which the content is made before anything is sent
				untried[s.Type+" "+p.Name] = true
			}
		}
	}
	for _, tt := range secretCases() {
		name := tt.item.Type + " " + tt.parameter
		delete(untried, name)
		t.Run(name, func(t *testing.T) {
			var arguments []string
			b := secretNode(t, &arguments)
			// undo leaves what the commands of a real node would have made
			before := b.tree()
			var shown []any
			all := func(mode Mode, i Item, secrets map[string]string) Result {
				t.Helper()
				results := b.of("one", Manifest{Mode: mode, Items: []Item{i}, Secrets: secrets})
				shown = append(shown, results)
				return results[0]
			}
			secrets := map[string]string{"s@1": tt.one, "s@2": tt.two}
			second := tt.item
			second.Parameters = tt.item.Parameters.WithSecretsVersion("2")
			second.Digest = resource.Digest(second.Resource)
			has := func(secret string) {
				t.Helper()
				if tt.file == "" {
					return
				}
				if got := b.get(tt.file); !strings.Contains(got, plainOf(tt, secret)) {
					t.Errorf("%s is %q", tt.file, got)
				}
				info, err := os.Stat(b.real(tt.file))
				if err != nil || tt.mode != 0 && info.Mode().Perm() != tt.mode {
					t.Errorf("%v, %v", info.Mode(), err)
				}
			}
			for i, step := range []struct {
				item Item
				want string
			}{{tt.item, tt.one}, {second, tt.two}} {
				// what nothing of is on the node is recorded only
				want := []Status{Changed, Unchanged}
				if tt.file != "" || i == 0 || tt.item.Type == "exec" {
					want = want[:1]
				}
				if r := all(Apply, step.item, secrets); !slices.Contains(want, r.Status) {
					t.Fatalf("apply %d: %s: %s", i, r.Status, r.Message)
				}
				has(step.want)
				if r := all(Check, step.item, nil); r.Status != Unchanged {
					t.Errorf("check %d without secrets: %s %s %v", i, r.Status, r.Message, r.Differences)
				}
				if r := all(Apply, step.item, secrets); r.Status != Unchanged {
					t.Errorf("apply %d again: %s %v", i, r.Status, r.Differences)
				}
			}
			if r := b.of("one", Manifest{Mode: Apply, Run: "taken back", Images: true, Items: []Item{tt.item}, Secrets: secrets})[0]; tt.file != "" && r.Status != Changed {
				t.Errorf("the first one again: %s: %s", r.Status, r.Message)
			}
			has(tt.one)
			back := b.of("one", Manifest{Mode: Apply, Run: "taken back", Restore: true})
			if shown = append(shown, back); len(back) > 0 && back[0].Status == Failed {
				t.Errorf("rollback: %s", back[0].Message)
			}
			if has(tt.two); tt.item.Type == "exec" && back[0].Message != NotRestored {
				t.Errorf("rollback says %q", back[0].Message)
			}
			if r := all(Check, second, nil); r.Status != Unchanged {
				t.Errorf("after the rollback: %s %s %v", r.Status, r.Message, r.Differences)
			}
			if tt.file != "" {
				if got := b.get(tt.file); strings.Contains(got, plainOf(tt, tt.one)) {
					t.Errorf("the first one is still in %s: %q", tt.file, got)
				}
				b.put(tt.file, tt.tamper(b.get(tt.file)))
				if r := all(Check, second, nil); r.Status != Differs {
					t.Errorf("after tampering: %s %s", r.Status, r.Message)
				}
				if r := all(Apply, second, secrets); r.Status != Changed {
					t.Errorf("repair: %s %s", r.Status, r.Message)
				}
				has(tt.two)
			}
			look := []string{plainOf(tt, tt.one), plainOf(tt, tt.two)}
			if found := b.secretsOfSlipway(look...); len(found) > 0 {
				t.Errorf("slipway keeps secrets: %q", found)
			}
			b.wantAll("undo", Changed, b.of("one", Manifest{Mode: Apply, Items: []Item{removal(string(tt.item.ID()))}}))
			text, err := json.Marshal([]any{shown, arguments})
			if err != nil {
				t.Fatal(err)
			}
			for _, secret := range look {
				if form := encryptiontest.Form(text, secret); form != "" {
					t.Errorf("results or arguments have a secret (%s): %s", form, text)
				}
				for file, content := range b.tree() {
					if strings.Contains(content, secret) {
						t.Errorf("after undo, %s is %q", file, content)
					}
				}
			}
			if diff := cmp.Diff(withoutSlipway(before), withoutSlipway(b.tree())); diff != "" && tt.file != "" && tt.item.Type != "user" {
				t.Errorf("after undo:\n%s", diff)
			}
		})
	}
	if len(untried) > 0 {
		t.Errorf("there is no case for %v", untried)
	}
}

// plainOf returns what the node has of a secret.
func plainOf(tt secretCase, secret string) string {
	if tt.parameter == "content_base64" {
		plain, _ := base64.StdEncoding.DecodeString(secret)
		return string(plain)
	}
	return secret
}

// What a resource with a secret prints, or says of why it failed, has no part of it.
func TestSecretsOfFailures(t *testing.T) {
	const secret = "first-line-of-a-secret-text\nsecond-line-of-a-secret-text"
	b := newBench(t)
	b.hook = func(stage, _ string) error {
		if stage == "check" {
			b.Log.WriteString("printed " + base64.StdEncoding.EncodeToString([]byte(secret)) + "\n")
		}
		if stage == "apply" {
			return errors.New(`the server says: "second-line-of-a-secret-text" is wrong`)
		}
		return nil
	}
	i := item("plain[a]", "value", "password="+secretMark)
	results, _ := b.session(t.Context(), Manifest{Mode: Apply, Items: []Item{i}, Secrets: map[string]string{"s@1": secret}})
	if got := results[0].Message; got != `the server says: "(sensitive)" is wrong` {
		t.Error(got)
	}
	if form := encryptiontest.Form(fmt.Appendf(nil, "%+v", results), secret); form != "" || results[0].Output != "" {
		t.Errorf("the results have the secret (%s): %+v", form, results)
	}
	results, _ = b.session(t.Context(), Manifest{Mode: Apply, Items: []Item{i}, Secrets: map[string]string{"s@2": secret}})
	if got := results[0].Message; results[0].Status != Failed || got != "the controller sent no content of the secret s@1" {
		t.Errorf("%s: %s", results[0].Status, got)
	}
}

// A command whose guards read a secret is not judged by a check that does not have it; what it creates is.
func TestSecretsOfGuards(t *testing.T) {
	var arguments []string
	b := secretNode(t, &arguments)
	guarded := item("exec[x]", "command", "ok", "unless", "guard $P", "environment", []any{"P=" + secretMark})
	creating := item("exec[y]", "command", "ok", "creates", "/d/made", "environment", []any{"P=" + secretMark})
	inner := b.Commands
	b.Commands = func(ctx context.Context, c system.Command) (out system.Output, err error) {
		out, err = inner(ctx, c)
		if strings.HasPrefix(c.Argv[len(c.Argv)-1], "guard") {
			if out.Status = 1; !slices.Contains(c.Env, "P="+secretOneText) {
				t.Errorf("the guard has %q", c.Env)
			}
		} else {
			onDisk(t, b.Session, "/d/made", "")
		}
		return out, err
	}
	items := []Item{guarded, creating}
	b.wantAll("apply", Changed, b.of("one", Manifest{Mode: Apply, Items: items, Secrets: map[string]string{"s@1": secretOneText}})[:1])
	b.of("one", Manifest{Mode: Apply, Items: items[1:], Secrets: map[string]string{"s@1": secretOneText}})
	b.wantAll("check", Unchanged, b.of("one", Manifest{Mode: Check, Items: items}))
	if err := os.Remove(b.real("/d/made")); err != nil {
		t.Fatal(err)
	}
	r := b.of("one", Manifest{Mode: Check, Items: items})
	b.wantAll("guard", Unchanged, r[:1])
	b.wantAll("creates", Differs, r[1:])
}

// A new file with a secret is for nobody else; one that is there keeps its mode, and a mode that is given is what it
// gets.
func TestModesOfFilesWithSecrets(t *testing.T) {
	encoded := base64.StdEncoding.EncodeToString([]byte(secretOneText))
	for name, tt := range map[string]struct {
		there   fs.FileMode // 0: it is not there
		pairs   []any
		content string
		want    fs.FileMode
	}{
		"new":               {0, []any{"content", secretMark}, secretOneText, 0o600},
		"new, base64":       {0, []any{"content_base64", secretMark}, encoded, 0o600},
		"new, sensitive":    {0, []any{"content", "x", "sensitive", true}, secretOneText, 0o600},
		"new, mode given":   {0, []any{"content", secretMark, "mode", "0640"}, secretOneText, 0o640},
		"new, mode changes": {0, []any{"content", secretMark, "mode", "g+r"}, secretOneText, 0o640},
		"new, plain":        {0, []any{"content", "x"}, secretOneText, 0o644},
		"there":             {0o664, []any{"content", secretMark}, secretOneText, 0o664},
	} {
		t.Run(name, func(t *testing.T) {
			b := newSandbox(t)
			b.mkdir("/d/")
			if tt.there != 0 {
				b.put("/d/f", "old")
				if err := os.Chmod(b.real("/d/f"), tt.there); err != nil {
					t.Fatal(err)
				}
			}
			before := b.tree()
			secrets := map[string]string{"s@1": tt.content}
			i := item("file[/d/f]", tt.pairs...)
			has := func(want fs.FileMode) {
				t.Helper()
				if info, err := os.Stat(b.real("/d/f")); err != nil || info.Mode().Perm() != want {
					t.Errorf("%v, %v, want %v", info.Mode(), err, want)
				}
			}
			b.wantAll("apply", Changed, b.of("one", Manifest{Mode: Apply, Items: []Item{i}, Secrets: secrets}))
			has(tt.want)
			b.wantAll("check", Unchanged, b.of("one", Manifest{Mode: Check, Items: []Item{i}, Secrets: secrets}))
			if _, given := i.Parameters["mode"]; given { // one that is not given any more is that of a new file
				delete(i.Parameters, "mode")
				i.Digest = resource.Digest(i.Resource)
				b.wantAll("without mode", Changed, b.of("one", Manifest{Mode: Apply, Items: []Item{i}, Secrets: secrets}))
				has(0o600)
			}
			b.wantAll("undo", Changed, b.of("one", Manifest{Mode: Apply, Items: []Item{removal("file[/d/f]")}}))
			if diff := cmp.Diff(withoutSlipway(before), withoutSlipway(b.tree())); diff != "" {
				t.Errorf("after undo:\n%s", diff)
			}
		})
	}
}

// The ledger has no part of a plain digest of a secret, which others could compare with guesses, and knows what slipway
// wrote all the same: also as an older slipway recorded it.
func TestDigestsOfSecretsInTheLedger(t *testing.T) {
	sum := resource.SHA256(secretOneText)
	for name, older := range map[string]bool{"now": false, "recorded by an older slipway": true} {
		t.Run(name, func(t *testing.T) {
			b := newSandbox(t)
			b.mkdir("/d/")
			i := item("file[/d/f]", "content", secretMark)
			b.wantAll("apply", Changed, b.of("one", Manifest{Mode: Apply, Items: []Item{i}, Secrets: map[string]string{"s@1": secretOneText}}))
			l, err := ledger.Read(b.System)
			if err != nil {
				t.Fatal(err)
			}
			e := l.Entry("one", i.ID())
			if before := string(e.Before); strings.Contains(before, sum[:8]) || !strings.Contains(before, `"wrote":"`) {
				t.Errorf("the ledger has %s", before)
			}
			if older {
				var before map[string]any
				if err := json.Unmarshal(e.Before, &before); err != nil {
					t.Fatal(err)
				}
				before["wrote"] = "{sha256}" + sum[:8]
				if e.Before, err = json.Marshal(before); err != nil {
					t.Fatal(err)
				}
				l.Change(ledger.Record{Entry: e})
			}
			if err := errors.Join(l.Save(), l.Close()); err != nil {
				t.Fatal(err)
			}
			// Without a content, what slipway wrote goes; what others wrote would stay.
			b.wantAll("no content", Changed, b.of("one", Manifest{Mode: Apply, Items: []Item{item("file[/d/f]", "mode", "0600")}}))
			if b.there("/d/f") {
				t.Errorf("the secret is still there: %q", b.get("/d/f"))
			}
		})
	}
}
