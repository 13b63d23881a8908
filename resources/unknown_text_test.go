package resources_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// An unknown content hides nothing but itself: what else its service brings is shown, and it is, too, by name.
func TestTextHidesOnlyTheUnknownContent(t *testing.T) {
	s := newSandbox(t, "a", "b")
	c := newCommandLine(t)
	service := func(configuration string) string {
		return "resource \"terraform_data\" \"text\" { input = \"x\\n\" }\n" +
			"resource \"slipway_service\" \"motd\" {\n  name = \"motd\"\n  selectors = []\n  configuration = " + configuration + "\n}\n"
	}
	c.configure(s.config([]string{"a", "b"}, []string{"motd"}, service(`{ file = {
    "/etc/x"    = { content = terraform_data.text.output }
    "/etc/motd" = { content = "hello\n", require = "file[/etc/x]" }
  } }`), ""))
	text := c.changes()
	for _, want := range []string{
		"Warning: 1 of 2 resources of the services is not known yet",
		"service \"motd\", configuration.file[\"/etc/x\"].content\n",
		"  - default (critical): prepare 2 nodes (a, b)\n" +
			"  - default (critical): node phase: 4 changes on 2 nodes: create file[/etc/x] (content known after apply) on 2, file[/etc/motd] on 2\n",
	} {
		if !strings.Contains(strings.ReplaceAll(text, "│ ", ""), want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	c.apply()
	c.empty()

	// An update is not certain, since the content may come out as it is; a removal and what is new are. What is in the
	// service and leaves it is removed.
	c.configure(strings.Replace(s.config([]string{"a", "b"}, []string{"motd"}, service(`{ file = {
    "/etc/x"   = { content = terraform_data.text.output, notify = "file[/etc/seen]" }
    "/etc/new" = { content = "new\n" }
    "/etc/seen" = { content = "seen\n" }
  } }`), ""), `input = "x\n"`, `input = "y\n"`, 1))
	text = strings.ReplaceAll(c.changes(), "│ ", "")
	_, certain, _ := strings.Cut(text, "certain of run ")
	certain, perhaps, _ := strings.Cut(certain, "What may be done besides")
	for _, want := range []string{
		"node phase: 6 changes on 2 nodes: remove file[/etc/motd] on 2, create file[/etc/new] on 2, file[/etc/seen] on 2\n",
		"The plan removes 2 resources on 2 nodes",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	if strings.Contains(certain, "/etc/x]") || !strings.Contains(perhaps, "update file[/etc/x] (content known after apply) on 2") {
		t.Errorf("the update of a resource with unknown content is not shown as what may be done:\n%s", text)
	}
	c.apply()
	c.empty()
}

// The text of a plan with an unknown input grows with what may change and not with the site.
func TestTextOfUnknownInputsIsShort(t *testing.T) {
	const nodes = 200
	s := newSandbox(t, "late")
	c := newCommandLine(t)
	for i := range nodes {
		s.mkdir(fmt.Sprintf("n%03d", i), "etc")
	}
	configure := func(content, more string) {
		c.configure(fmt.Sprintf(`
provider "slipway" { journal_directory = %q }
resource "terraform_data" "late" { input = %q }
resource "slipway_service" "motd" {
  name          = "motd"
  selectors     = []
  configuration = { file = { "/etc/motd" = { content = "hello\n" } } }
}
resource "slipway_service" "one" {
  name          = "one"
  selectors     = [{ node_names = ["n007"] }]
  configuration = { file = { "/etc/one" = { content = %s }, "/etc/two" = { content = "two\n" } } }
}
resource "slipway_deployment" "test" {
  site     = "lon1"
  nodes    = merge({ for i in range(%d) : format("n%%03d", i) => { name = format("n%%03d", i), connect = { transport = "local", root = format("%s/n%%03d", i) } } }, { %s })
  services = { motd = slipway_service.motd, one = slipway_service.one }
}
`, filepath.Join(s.dir, "journal"), filepath.Join(s.dir, "late"), content, nodes, s.dir, more))
	}
	configure(`"one\n"`, "")
	c.run(0, "apply", "-input=false", "-no-color", "-auto-approve")
	c.run(0, "apply", "-input=false", "-no-color", "-auto-approve", "-replace=terraform_data.late")
	for _, test := range []struct {
		what, content, more string
		lines               int
		prints              []string
	}{
		{"a content", "terraform_data.late.id", "", 110, []string{`"n007" = 1 -> (known after apply)`, `"n007" = "DEPLOYED" -> (known after apply)`, "update file[/etc/one] (content known after apply)"}},
		{"a node", `"one\n"`, `late = { name = "late", connect = { transport = "local", root = terraform_data.late.id } }`, 80,
			[]string{`+ "late" = (known after apply)`, `node "late", connect.root`}},
	} {
		configure(test.content, test.more)
		text := c.changes("-replace=terraform_data.late")
		if lines := strings.Count(text, "\n"); lines > test.lines {
			t.Errorf("%s is unknown: the plan has %d lines, more than %d:\n%s", test.what, lines, test.lines, text)
		}
		for _, want := range test.prints {
			if !strings.Contains(strings.Join(strings.Fields(text), " "), want) {
				t.Errorf("%s is unknown: no %q in:\n%s", test.what, want, text)
			}
		}
	}
}

// A node that may move leaves open what stands for the machine that it leaves: the apply may find one more node.
func TestTextOfAMoveToAnUnknownPlace(t *testing.T) {
	s := newSandbox(t, "a1", "a2", "b")
	c := newCommandLine(t)
	configure := func(at string) {
		c.configure(fmt.Sprintf(`
provider "slipway" { journal_directory = %q }
resource "terraform_data" "at" { input = %q }
resource "slipway_service" "motd" {
  name          = "motd"
  selectors     = []
  configuration = { file = { "/etc/motd" = { content = "hello\n" } } }
}
resource "slipway_deployment" "test" {
  site     = "lon1"
  services = [slipway_service.motd]
  nodes = [
    { name = "a", connect = { transport = "local", root = terraform_data.at.output } },
    { name = "b", connect = { transport = "local", root = %q } },
  ]
}
`, filepath.Join(s.dir, "journal"), filepath.Join(s.dir, at), filepath.Join(s.dir, "b")))
	}
	configure("a1")
	c.apply()
	configure("a2")
	c.apply()
	c.empty()
}
