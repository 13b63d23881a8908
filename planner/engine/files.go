package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/transport"
)

// MissingFiles warns of the files that the connections of nodes name and that are missing. They are warnings, because
// another Terraform resource may write a file in the apply, before the deployment. Files that the defaults name, too,
// are left to [MissingDefaultFiles].
func (p *Planned) MissingFiles(defaults site.Connection) Messages {
	named, missing := defaults.Files(), make(map[string]error)
	for _, n := range p.Site.Nodes {
		var lacks []string
		for _, f := range n.Connection.Files() {
			if err := missingFile(n.Connection, f); err != nil && !slices.Contains(named, f) {
				lacks = append(lacks, err.Error())
			}
		}
		if lacks != nil {
			missing[n.Name] = errors.New(strings.Join(lacks, "; "))
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return missingFiles("nodes", Reasons(missing)+"These nodes are not reached as it is")
}

// MissingDefaultFiles warns of the files that the connection of the provider names and that are missing.
func MissingDefaultFiles(defaults site.Connection) (m Messages) {
	for _, f := range defaults.Files() {
		if err := missingFile(defaults, f); err != nil {
			attribute, _, _ := strings.Cut(f.Attribute, "[")
			m = append(m, missingFiles("connection."+attribute, err.Error()+". No node is reached with it as it is")...)
		}
	}
	return m
}

func missingFile(c site.Connection, f site.ConnectionFile) error {
	if err := transport.CheckFile(f.Name); err != nil {
		return fmt.Errorf("%s: %w", c.Named(f.Attribute), err)
	}
	return nil
}

func missingFiles(attribute, so string) Messages {
	return Messages{&Message{Warning: true, Attribute: attribute, Summary: "File of a connection cannot be read",
		Detail: so + ": correct the path, or write the file. Nothing needs to be done where another resource of this " +
			"configuration writes it before the deployment."}}
}
