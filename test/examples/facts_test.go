package examples

import (
	"os"
	"strings"
	"testing"
)

// TestFacts: a template reads what nodes are, and so does the configuration, also on the first run.
func TestFacts(t *testing.T) {
	t.Parallel()
	s := newSite(t, "facts", "web1", "web2")
	for node, system := range map[string]string{"web1": "ID=debian\nVERSION_ID=\"12\"\n", "web2": "ID=rocky\nVERSION_ID=\"9.4\"\n"} {
		write(t, s.path(node, "etc/os-release"), system)
	}
	s.apply()
	s.settled()
	for node, want := range map[string][2]string{"web1": {"# web1 of web: Debian 12\n", "user    = www-data\n"}, "web2": {"# web2 of web: Rocky 9.4\n", "user    = nginx\n"}} {
		got, err := os.ReadFile(s.path(node, "etc/app.conf"))
		if err != nil || !strings.HasPrefix(string(got), want[0]) || !strings.HasSuffix(string(got), want[1]) {
			t.Errorf("%s has %q, %v", node, got, err)
		}
	}
	s.has("web1", "etc/app.ini", "[pool]\nworkers = web1\n")
	for node, want := range map[string]string{"web1": "192.0.2.10\tcache\t# for Debian 12\n", "web2": "192.0.2.10\tcache\t# for Rocky 9.4\n"} {
		s.has(node, "etc/hosts", want)
	}
	s.has("web1", "etc/sysconfig/app", "")
	s.has("web2", "etc/sysconfig/app", "OPTIONS=-v\n")
	if got := s.output("facts"); !strings.Contains(got, `"release":"9.4"`) {
		t.Errorf("the facts are %s", got)
	}
}
