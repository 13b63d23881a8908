package schema

import (
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	for _, c := range []struct {
		rule      string
		accepts   func(string) bool
		good, bad []string
	}{
		{"account", IsAccountName, []string{"a", "_chrony", "web-1", "host$", strings.Repeat("a", 31)}, []string{"", "$", "1a", "-a", "a b", "a:b", "ä", "a$b", strings.Repeat("a", 32)}},
		{"package", IsPackageName, []string{"tree", "libc6:amd64", "g++", "python3.11"}, []string{"", "-y", "a b", "a;b", "a:", "a:B", ":amd64", "a:b:c"}},
		{"version", IsPackageVersion, []string{"1", "2:1.0~rc1-3+deb12u1", "1.0^git"}, []string{"", "-1", "1 2", "1;2", "$(id)"}},
		{"service", IsServiceName, []string{"nginx", "getty@tty1.service", `dev-disk-by\x2dlabel.swap`}, []string{"", "-a", "a b", "a/b", "@a", "--now"}},
	} {
		for _, name := range c.good {
			if !c.accepts(name) {
				t.Errorf("%s %q is refused", c.rule, name)
			}
		}
		for _, name := range c.bad {
			if c.accepts(name) {
				t.Errorf("%s %q is accepted", c.rule, name)
			}
		}
	}
}
