package examples

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// site is an example that is applied, on sandbox nodes.
type site struct {
	*testing.T
	dir string
}

// newSite copies the examples and initialises one, with the nodes that it has.
func newSite(t *testing.T, example string, nodes ...string) site {
	t.Helper()
	copied := t.TempDir()
	if err := os.CopyFS(copied, os.DirFS(filepath.Join(top, "examples"))); err != nil {
		t.Fatal(err)
	}
	s := site{t, filepath.Join(copied, example)}
	for _, node := range nodes {
		if err := os.MkdirAll(s.path(node, "etc/systemd"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s.does("init")
	return s
}

func (s site) path(node, file string) string { return filepath.Join(s.dir, "nodes", node, file) }

// does runs a Terraform command, which must succeed.
func (s site) does(command string, args ...string) {
	s.Helper()
	terraform(s.T, s.dir, append([]string{command, "-input=false", "-no-color"}, args...)...)
}

func (s site) apply(args ...string) {
	s.Helper()
	s.does("apply", append([]string{"-auto-approve"}, args...)...)
}

// status runs a Terraform command that may fail. It returns its exit status and what it said, on one line.
func (s site) status(command string, args ...string) (int, string) {
	s.Helper()
	cmd := binary(s.T, s.dir, append([]string{command, "-input=false", "-no-color"}, args...)...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); cmd.ProcessState == nil {
		s.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), strings.Join(strings.Fields(strings.ReplaceAll(out.String(), "│", " ")), " ")
}

// settled checks that there is nothing left to do.
func (s site) settled(args ...string) {
	s.Helper()
	if status, out := s.status("plan", append([]string{"-detailed-exitcode"}, args...)...); status != 0 {
		s.Errorf("the plan after an apply ends with status %d:\n%s", status, out)
	}
}

// output returns an output as JSON.
func (s site) output(name string) string {
	s.Helper()
	out, err := binary(s.T, s.dir, "output", "-json", name).Output()
	if err != nil {
		s.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// has checks a file of a node; an empty text is no file.
func (s site) has(node, file, want string) {
	s.Helper()
	got, err := os.ReadFile(s.path(node, file))
	if err != nil && !os.IsNotExist(err) || string(got) != want {
		s.Errorf("%s has %s with %q, %v; want %q", node, file, got, err, want)
	}
}

func TestTwoSites(t *testing.T) {
	t.Parallel()
	s := newSite(t, "two-sites", "lon-web1", "lon-web2", "par-web1")
	s.apply()
	const file = "etc/systemd/timesyncd.conf.d/site.conf"
	for _, node := range []string{"lon-web1", "lon-web2"} {
		s.has(node, file, "# lon1\n[Time]\nNTP=192.0.2.1 192.0.2.2\nPollIntervalMaxSec=2048\n")
	}
	s.has("par-web1", file, "# par1\n[Time]\nNTP=198.51.100.1\nPollIntervalMaxSec=512\n")
	if got := s.output("states"); got != `{"lon1":"up","par1":"up"}` {
		t.Errorf("the services are %s", got)
	}
	s.settled()
	s.does("destroy", "-auto-approve")
	s.has("par-web1", file, "")
}

func TestServiceInGroups(t *testing.T) {
	t.Parallel()
	s := newSite(t, "services/groups", "ctl1", "ctl2", "cmp1", "cmp2", "db1")
	const file = "etc/cluster/config.yaml"
	s.apply()
	s.has("ctl2", file, "release: v1.0\nrole: server\nserver: ctl1\n")
	s.has("cmp1", file, "release: v1.0\nrole: agent\nserver: ctl1\n")
	s.has("db1", file, "")
	if got := s.output("cluster"); got != `{"entity":"cluster","identity":null,"state":"up","version":3}` {
		t.Errorf("the service is %s", got)
	}

	// A node of the group that is not critical fails: the others have the release, and the service is not up until that one has it too.
	s.block("cmp2", file)
	s.apply("-var=release=v1.1")
	s.has("ctl1", file, "release: v1.1\nrole: server\nserver: ctl1\n")
	s.has("cmp1", file, "release: v1.1\nrole: agent\nserver: ctl1\n")
	if got := s.output("cluster"); !strings.Contains(got, `"state":"update_failed"`) {
		t.Errorf("with a node that failed the service is %s", got)
	}
	if err := os.RemoveAll(s.path("cmp2", file)); err != nil {
		t.Fatal(err)
	}
	s.apply("-var=release=v1.1")
	if got := s.output("steps"); strings.Contains(got, "control") || !strings.Contains(got, "node cmp2") {
		t.Errorf("the rest is done in %s", got)
	}
	if got := s.output("cluster"); !strings.Contains(got, `"state":"up"`) {
		t.Errorf("the service is %s", got)
	}
	s.settled("-var=release=v1.1")
}

// block puts a directory where a file belongs.
func (s site) block(node, file string) {
	s.Helper()
	if err := os.Remove(s.path(node, file)); err != nil {
		s.Fatal(err)
	}
	if err := os.MkdirAll(s.path(node, file+"/full"), 0o755); err != nil {
		s.Fatal(err)
	}
}

func TestEmbeddedEntities(t *testing.T) {
	t.Parallel()
	s := newSite(t, "services/embedded", "proxy1", "proxy2")
	s.apply()
	s.has("proxy1", "etc/proxy/docs.example.org.conf", "site docs.example.org port 9000 root /srv/docs\n")
	s.has("proxy2", "etc/proxy/www.example.org.conf", "site www.example.org port 9001 root /srv/www\n")

	// One site stays with its port and a new root, one goes, and one comes in its place.
	changed := `-var=sites={"www.example.org"="/srv/new","shop.example.org"="/srv/shop"}`
	if status, out := s.status("plan", "-detailed-exitcode", changed); status != 2 || !strings.Contains(out, "node phase: 6 changes on 2 nodes: remove file[/etc/proxy/docs.example.org.conf] on 2, "+
		"create file[/etc/proxy/shop.example.org.conf] on 2, update file[/etc/proxy/www.example.org.conf] on 2") {
		t.Errorf("the plan of the change ends with status %d:\n%s", status, out)
	}
	s.apply(changed)
	s.has("proxy1", "etc/proxy/docs.example.org.conf", "")
	s.has("proxy1", "etc/proxy/www.example.org.conf", "site www.example.org port 9001 root /srv/new\n")
	s.has("proxy2", "etc/proxy/shop.example.org.conf", "site shop.example.org port 9002 root /srv/shop\n")
	s.settled(changed)
	s.does("destroy", "-auto-approve")
	s.has("proxy1", "etc/proxy/proxy.conf", "")
}

func TestRollback(t *testing.T) {
	t.Parallel()
	s := newSite(t, "services/rollback", "app1", "app2")
	s.apply()
	write(t, s.path("app2", "broken"), "2\n")
	status, out := s.status("apply", "-auto-approve", "-var=release=2")
	for _, want := range []string{`The update of the service "app" was rolled back`, "Version 5 failed: command[app/check@app2] on app2: ", "release 2 does not answer on app2", "What version 2 had is deployed again, as version 8."} {
		if status != 1 || !strings.Contains(out, want) {
			t.Errorf("the update ends with status %d, without %q:\n%s", status, want, out)
		}
	}
	for _, node := range []string{"app1", "app2"} {
		s.has(node, "etc/app.conf", "release 1\n")
	}
	if status, out := s.status("plan", "-detailed-exitcode", "-var=release=2"); status != 2 || !strings.Contains(out, "service app: update release") {
		t.Errorf("the next plan ends with status %d:\n%s", status, out)
	}
	if err := os.Remove(s.path("app2", "broken")); err != nil {
		t.Fatal(err)
	}
	s.apply("-var=release=2")
	for _, node := range []string{"app1", "app2"} {
		s.has(node, "etc/app.conf", "release 2\n")
	}
	s.settled("-var=release=2")
}
