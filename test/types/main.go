// Command types writes the guide to the configuration resource types from their schemas.
package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

const head = `---
page_title: "Configuration resource types"
subcategory: ""
description: |-
  What a service's configuration may hold: types, titles and parameters.
---

# Configuration resource types

The ` + "`configuration`" + ` of a ` + "`slipway_service`" + ` maps type, title and parameters, in Puppet's words and with their meaning:

` + "```hcl" + `
configuration = {
  package = { chrony = { ensure = "installed" } }
  file    = { "/etc/chrony/chrony.conf" = { content = file("chrony.conf"), require = ["package[chrony]"] } }
  service = { chrony = { ensure = "running", enable = true, subscribe = ["file[/etc/chrony/chrony.conf]"] } }
}
` + "```" + `

A resource is named ` + "`type[title]`" + `, in references as in plans. References reach every resource of the same node, whichever service brings it.

`

var kinds = map[resource.Kind]string{
	resource.String: "string", resource.Bool: "bool", resource.Integer: "integer", resource.StringList: "list of strings", resource.StringMap: "map of strings",
}

func main() {
	var b strings.Builder
	b.WriteString(head)
	b.WriteString("## Parameters of every type\n\n")
	table(&b, resource.Metaparameters())
	schemas := converge.Schemas()
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		s := schemas[name]
		fmt.Fprintf(&b, "## %s\n\n%s", name, s.Summary)
		if s.NeedsMachine {
			b.WriteString(" Needs a whole machine: refused on a sandbox node.")
		}
		b.WriteString("\n\n")
		table(&b, s.Parameters)
	}
	if _, err := os.Stdout.WriteString(strings.TrimRight(b.String(), "\n") + "\n"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func table(b *strings.Builder, parameters []resource.Parameter) {
	b.WriteString("| parameter | kind | meaning |\n|---|---|---|\n")
	for _, p := range parameters {
		kind := kinds[p.Kind]
		if p.Required {
			kind += ", required"
		}
		text := p.Description
		if len(p.Values) > 0 {
			text += " One of `" + strings.Join(p.Values, "`, `") + "`."
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", p.Name, kind, strings.ReplaceAll(text, "|", "\\|"))
	}
	b.WriteString("\n")
}
