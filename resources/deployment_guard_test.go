package resources_test

import (
	"strings"
	"testing"
)

const guardedService = `
resource "slipway_service" "svc" {
  name      = "svc"
  selectors = []
  configuration = {
    file = { "/etc/fw" = { content = "one", guard = true, notify = ["exec[load]"] }, "/etc/motd" = { content = "one" } }
    exec = { load = { refreshonly = true } }
  }
}
`

// The plan says which resources are guarded, and that others cannot be, on local nodes none at all.
func TestTextOfAGuard(t *testing.T) {
	s := newSandbox(t, "a", "b")
	c := newCommandLine(t)
	remote := func(service string) string {
		return strings.Replace(s.config(nil, []string{"svc"}, service, ""), "nodes = []", `nodes = [{ name = "a", address = "192.0.2.1" }]`, 1)
	}
	c.configure(remote(guardedService))
	text := c.changes()
	if !strings.Contains(text, "create file[/etc/fw] (guard), refresh exec[load], create file[/etc/motd]") {
		t.Errorf("the guard is not shown:\n%s", text)
	}
	local := strings.NewReplacer(`, notify = ["exec[load]"]`, "", "    exec = { load = { refreshonly = true } }\n", "").Replace(guardedService)
	for want, config := range map[string]string{
		"configuration.file[\"/etc/fw\"].guard: file[/etc/fw] cannot be guarded on a node with the transport local, which has no connection that could be lost; leave guard out there, by an override for example (on all 2 nodes)": s.config([]string{"a", "b"}, []string{"svc"}, local, ""),
		"configuration.exec[\"load\"].guard: a change of a resource of the type exec cannot be put back; give guard to the file or service that it is about, and let that notify it":                                                remote(strings.Replace(guardedService, "refreshonly = true", "refreshonly = true, guard = true", 1)),
	} {
		c.refused(config, want)
	}
}
