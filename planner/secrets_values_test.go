package planner_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// secretValues is a configuration with a secret of a version in many types.
func secretValues(version int) conf {
	ref := fmt.Sprintf("⟦secret:pw@%d⟧", version)
	return conf{
		"file":         {"/etc/f": {"content": ref}},
		"file_line":    {"l": {"path": "/etc/l", "line": "password=" + ref}},
		"ini_setting":  {"i": {"path": "/etc/i", "section": "s", "setting": "k", "value": ref}},
		"user":         {"u": {"password": ref}},
		"exec":         {"x": {"command": "true", "environment": []any{"A=1", tmpl("PW_${upper(node.name)}=" + ref)}}},
		"cron":         {"c": {"command": "true", "environment": "PW=" + ref}},
		"systemd_unit": {"a.service": {"content": tmpl("[Service]\nUser=${node.name}\nExecStart=/bin/x " + ref + "\n")}},
		"archive":      {"/srv/a": {"source": "https://x/a", "checksum": strings.Repeat("0", 64), "username": "u", "password": ref}},
		"vcsrepo":      {"/srv/b": {"source": "https://x/b", "basic_auth_username": "u", "basic_auth_password": ref}},
	}
}

// A plan and its digests name secrets with their version. Another version plans every resource that names one again,
// and a node that has this one is as desired.
func TestSecretsOfValues(t *testing.T) {
	s, next := valued(secretValues(1)), valued(secretValues(2))
	s.Nodes, next.Nodes = s.Nodes[:1], next.Nodes[:1]
	applied := allApplied(t, s)
	if p := mustMake(t, s, applied, nil); len(p.Phases) > 0 {
		t.Errorf("what is applied is planned: %v", p.Steps())
	}
	p := mustMake(t, next, applied, nil)
	for typ, titles := range secretValues(1) {
		for title := range titles {
			id := resource.MakeID(typ, title)
			c := change(t, p, id, "a")
			if got := c.Resource.Parameters.Secrets(); len(got) != 1 || got[0] != "pw@2" || c.Digest == applied["a"][id] {
				t.Errorf("%s names %q, digest %s", id, got, c.Digest)
			}
		}
	}
	x := change(t, p, "exec[x]", "a")
	if got := x.Resource.Parameters.Strings("environment"); len(got) != 2 || got[1] != "PW_A=⟦secret:pw@2⟧" {
		t.Errorf("environment is %q", got)
	}
}

// A parameter that takes no secret is named, also where the secret is in a template or in a list, and in an override.
func TestErrorsOfSecretsOfValues(t *testing.T) {
	const ref, file = "⟦secret:pw@1⟧", `write it into the content of a file with mode "0600", and name that file`
	for name, tt := range map[string]struct {
		c    conf
		want string
	}{
		"command":      {conf{"exec": {"x": {"command": "mysql -p" + ref}}}, `configuration.exec["x"].command: takes no secret of the deployment, which others could read there; of the type exec, what takes one is environment; else ` + file},
		"guard":        {conf{"exec": {"x": {"unless": []any{[]any{"test", ref}}}}}, `configuration.exec["x"].unless: takes no secret`},
		"template":     {conf{"exec": {"x": {"command": tmpl("mysql -p" + ref)}}}, `configuration.exec["x"].command: takes no secret`},
		"options":      {conf{"mount": {"/m": {"device": "//x/y", "options": "password=" + ref}}}, `configuration.mount["/m"].options: takes no secret of the deployment, which others could read there; ` + file},
		"comment":      {conf{"user": {"u": {"comment": ref}}}, `configuration.user["u"].comment: takes no secret of the deployment, which others could read there; of the type user, what takes one is password`},
		"source":       {conf{"vcsrepo": {"/v": {"source": "https://u:" + ref + "@x/y"}}}, "what takes one is basic_auth_username, basic_auth_password;"},
		"match":        {conf{"file_line": {"l": {"path": "/l", "line": "a", "match": ref}}}, `configuration.file_line["l"].match: takes no secret`},
		"require":      {conf{"file": {"/f": {"content": "x", "require": ref}}}, `configuration.file["/f"].require: takes no secret`},
		"kind":         {conf{"user": {"u": {"password": []any{ref}}}}, `configuration.user["u"].password: must be a string, not a list`},
		"may be a URL": {conf{"archive": {"/a": {"source": ref}}}, `configuration.archive["/a"].checksum: is required because the source is a secret, which may be a URL: what`},
		"whole":        {conf{"archive": {"/a": {"source": "https://x/a", "checksum": strings.Repeat("0", 64), "password": ref}}}, `configuration.archive["/a"].password: goes with username`},
	} {
		_, errs := planner.Make(valued(tt.c), nil, nil)
		if got := errs.Error(); !strings.Contains(got, tt.want) || len(errs.Errors()) != 1 {
			t.Errorf("%s: no %q in:\n%s", name, tt.want, got)
		}
	}
	s := valued(conf{"exec": {"x": {"command": "true"}}}, site.Override{Name: "o", Configuration: conf{"exec": {"x": {"command": ref}}}})
	if _, errs := planner.Make(s, nil, nil); len(errs.Errors()) != 1 || !strings.Contains(errs.Error(), `override "o": configuration.exec["x"].command: takes no secret`) {
		t.Errorf("of an override: %v", errs)
	}
}

// What a parameter refuses of a secret is an error of the plan, once for all nodes, and never shows the content. A
// secret that is not known is not judged, and neither is what is removed.
func TestRefusedSecrets(t *testing.T) {
	const a, b = "⟦secret:a@1⟧", "⟦secret:b@1⟧"
	s := valued(conf{
		"user":           {"u": {"password": a}},
		"cron":           {"c": {"command": "true", "environment": []any{"A=1", b}}},
		"file":           {"/etc/f": {"content_base64": a + b}},
		"exec":           {"x": {"command": "true", "environment": []any{"A=" + a}}},
		"apt_repository": {"r": {"location": "https://x", "release": "r", "repos": "main", "username": "u", "password": a}},
	})
	p := mustMake(t, s, nil, nil)
	errs := p.RefusedSecrets(map[string]string{"a": "wal\nrus", "other": "walrus"})
	const hidden = `; the value is not shown because it is sensitive; it has the secret "a"`
	want := `service "s": configuration.apt_repository["r"].password: must be one word` + hidden + "\n" +
		`service "s": configuration.user["u"].password: must hold neither a colon nor a line break` + hidden
	if got := errs.Error(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	errs = p.RefusedSecrets(map[string]string{"a": "QQ==", "b": "walrus"})
	want = `service "s": configuration.cron["c"].environment: is not of the form NAME=value; the value is not shown because it is sensitive; it has the secret "b"` + "\n" +
		`service "s": configuration.file["/etc/f"].content_base64: is not base64; write filebase64("..."); the value is not shown because it is sensitive; it has the secrets "a", "b"`
	if got := errs.Error(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	removing := mustMake(t, valued(conf{}), allApplied(t, s), nil)
	if errs := removing.RefusedSecrets(map[string]string{"a": "wal\nrus", "b": "wal\nrus"}); len(errs) > 0 {
		t.Errorf("removed: %v", errs)
	}
}

// A password in clear as the hash of a user is a warning, which does not show it. What crypt(3) gives, and what no
// password fits, is none.
func TestWarnsOfPasswordsInClear(t *testing.T) {
	users := titles{}
	for name, password := range map[string]string{"clear": "walrus-1", "short": "$6$walrus", "sha512": "$6$salt$abcDEF./123",
		"yescrypt": "$y$j9T$salt$hash", "md5": "$1$x$y", "des": "abJnggxhB/yWI", "locked": "!", "star": "*", "off": "!!$6$salt$hash",
		"secret": "⟦secret:pw@1⟧"} {
		users[name] = params{"password": password}
	}
	_, errs := planner.Make(valued(conf{"user": users}), nil, nil)
	want := ""
	for _, name := range []string{"clear", "short"} {
		want += fmt.Sprintf(`service "s": configuration.user[%q].password: is no hash as crypt(3) gives it, so no password `+
			`fits it; give what `+"`openssl passwd -6` prints, or `!` for none that fits. The value is not shown (on all 3 nodes)\n", name)
	}
	if got := errs.Error() + "\n"; got != want || len(errs.Errors()) > 0 {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
