package resources_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// What tears nodes down and depends on what is not known is in the text of the plan, and protect refuses it in the apply.
func TestTextOfUnknownTearDowns(t *testing.T) {
	for name, c := range map[string]struct{ tag, selector string }{
		"tags": {"terraform_data.tag.output", `"web"`}, "selectors": {`"web"`, "terraform_data.tag.output"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSandbox(t, "a", "b")
			line := newCommandLine(t)
			configure := func(value string) {
				group := fmt.Sprintf("groups = [{ name = \"web\", critical = true, selectors = [{ node_tags = [%s] }] }]\n", c.selector)
				config := s.on(files("motd", map[string]string{"/etc/motd": "one"}), group, "a=a", "b=b")
				config = strings.ReplaceAll(config, "connect = {", fmt.Sprintf("tags = [%s], connect = {", c.tag))
				line.configure(fmt.Sprintf("resource \"terraform_data\" \"tag\" { input = %q }\n", value) + config)
			}
			configure("web")
			line.apply()
			configure("wbe")
			assertText(t, line.changes(), "May be torn down, depending on what is not known: 2 nodes: a, b. protect is checked in the apply, before anything is touched.")
			text := line.run(1, "apply", "-input=false", "-no-color", "-auto-approve")
			assertText(t, text, "tears down 2 of 2 nodes: a, b")
			if got := s.content("a", "etc/motd"); got != "one" {
				t.Errorf("after the refused apply there is %q", got)
			}
			configure("web")
			line.apply()
			line.empty()
		})
	}
}

// Of many nodes, one with an address that is not known hides nothing of the others: the text is that of one change.
func TestTextOfOneUnknownAddress(t *testing.T) {
	names := make([]string, 1000)
	for i := range names {
		names[i] = fmt.Sprintf("n%03d", i)
	}
	s := newSandbox(t, names...)
	c := newCommandLine(t)
	var nodes strings.Builder
	for _, name := range names {
		fmt.Fprintf(&nodes, "%s = { name = %[1]q, connect = { transport = \"local\", root = %q } }\n", name, s.path(name, ""))
	}
	known := s.config(nil, []string{"motd"}, files("motd", map[string]string{"/etc/motd": "one"}), "")
	known = strings.Replace(known, "nodes = []", "nodes = {\n"+nodes.String()+"}", 1)
	c.configure(known)
	c.apply()
	root := fmt.Sprintf("%q", s.path("n007", ""))
	later := "resource \"terraform_data\" \"root\" { input = " + root + " }\n"
	c.configure(later + strings.Replace(known, "root = "+root, "root = terraform_data.root.output", 1))
	text := c.changes()
	assertText(t, text, `~ "n007" = 1 -> (known after apply)`, "999 unchanged elements hidden")
	if n := changedLines(text); n >= 80 || strings.Contains(text, `"n500"`) {
		t.Errorf("%d lines:\n%s", n, text)
	}
	c.apply()
	c.empty()
}

// factsOfOne are the facts of one node in a plan, about as many lines as a machine has interfaces.
var factsOfOne = regexp.MustCompile(`(?s)~ node_facts .*?unchanged elements hidden\)\n *}\n`)

// changedLines counts the lines of what a plan changes. A node whose address is not known may be another machine, so
// Terraform prints all of its facts, which do not count.
func changedLines(text string) int {
	text = text[strings.Index(text, "will perform the following actions"):]
	return strings.Count(factsOfOne.ReplaceAllString(text, ""), "\n")
}

// One change on 1,000 nodes in 20 groups prints less than 80 lines beside the steps of the run before, and so does one
// input of a node that is not known.
func TestTextOfOneChangeInManyGroups(t *testing.T) {
	names := make([]string, 1000)
	for i := range names {
		names[i] = fmt.Sprintf("n%03d", i)
	}
	s := newSandbox(t, names...)
	c := newCommandLine(t)
	configure := func(content, unknown string) {
		var nodes, groups strings.Builder
		for i, name := range names {
			of := func(attribute, value string) string {
				if name != "n007" || attribute != unknown {
					return fmt.Sprintf("%q", value)
				}
				return fmt.Sprintf("terraform_data.late.output == \"no\" ? \"other\" : %q", value)
			}
			fmt.Fprintf(&nodes, "%s = { name = %[1]q, tags = [%s], rack = %s, labels = { a = %s }, roles = [%s], connect = { transport = \"local\", root = %s } }\n",
				name, of("tags", fmt.Sprintf("t%d", i%20)), of("rack", "r1"), of("labels", "x"), of("roles", "web"), of("root", s.path(name, "")))
		}
		for i := range 20 {
			fmt.Fprintf(&groups, "{ name = \"g%d\", critical = true, selectors = [{ node_tags = [\"t%[1]d\"] }] },\n", i)
		}
		config := s.config(nil, nil, files("motd", map[string]string{"/etc/motd": "one"}), "groups = [\n"+groups.String()+"]\n")
		config += "resource \"slipway_service\" \"one\" {\n  name = \"one\"\n  selectors = [{ node_names = [\"n007\"] }]\n  configuration = { file = { \"/etc/one\" = { content = \"" + content + "\" } } }\n}\n"
		config = strings.Replace(config, "services = []", "services = { motd = slipway_service.motd, one = slipway_service.one }", 1)
		if unknown != "" {
			config += "resource \"terraform_data\" \"late\" { input = \"yes\" }\n"
		}
		c.configure(strings.Replace(config, "nodes = []", "nodes = {\n"+nodes.String()+"}", 1))
	}
	configure("one", "")
	c.apply()
	for _, unknown := range []string{"", "root", "tags", "rack", "labels", "roles"} {
		configure("one", unknown)
		if unknown == "" {
			configure("two", "")
		}
		text := c.changes("-refresh=false")
		lines := changedLines(text)
		if assertText(t, text, `"n007" = 1 ->`); lines >= 80 || strings.Contains(text, `"n500"`) || strings.Contains(text, "group_status") {
			t.Errorf("%q is not known: %d lines:\n%s", unknown, lines, text)
		}
		t.Logf("%q: %d lines", unknown, lines)
	}
}
