package command

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/document"
)

// input is a FILE of a command that takes several kinds of documents.
type input struct {
	document.Source
	argument string // as it was named
	kind     document.Kind
	is       string // what it looks like, in words
}

// siteKinds tells what describes a site, in the help and the problems of commands that take something else as well.
const siteKinds = "what describes a site (site documents, catalogs, an Airship DeploymentStrategy, or what `terraform show -json` prints of a plan file or a state)"

// inputs reads files and tells their kinds. A file of a kind that is neither own nor of a site is an error of status 2; takes says which ones there are.
func inputs(cmd *cobra.Command, names []string, own document.Kind, takes string) ([]input, error) {
	for i, name := range names {
		if name != "-" && slices.Contains(names[:i], name) {
			return nil, bad(fmt.Errorf("%s is named twice", name))
		}
	}
	all, err := sources(cmd, names)
	if err != nil {
		return nil, err
	}
	out := make([]input, len(all))
	var problems document.Problems
	for i, s := range all {
		kind, is := document.KindOf(s)
		out[i] = input{s, names[i], kind, is}
		if kind != own && kind != document.Unclear && !kind.DescribesSite() {
			problems = append(problems, out[i].wrong(takes))
		}
	}
	if len(problems) > 0 {
		return nil, bad(problems)
	}
	return out, nil
}

// wrong is the problem that the file is not what it should be.
func (in input) wrong(right string) document.Problem {
	return document.Problem{File: in.Name, Code: document.Schema, Message: in.is + "; " + right}
}

// apart tells the inputs that describe a site from the others.
func apart(all []input) (ofSite, others []input) {
	for _, in := range all {
		if in.kind.DescribesSite() {
			ofSite = append(ofSite, in)
		} else {
			others = append(others, in)
		}
	}
	return ofSite, others
}

// siteOf reads the inputs that describe a site, which is nil when there are none: then the address has no meaning. Problems of their form are an error of
// status 2.
func siteOf(all []input, address string) (*document.Site, error) {
	if len(all) == 0 {
		return nil, chooses(address, false)
	}
	parts := make([]document.Source, len(all))
	for i, in := range all {
		parts[i] = in.Source
	}
	s, err := document.ParseSite(parts, document.Options{Address: address, Check: planner.CheckParts})
	if err != nil {
		return nil, bad(err)
	}
	return s, chooses(address, s.Shown)
}
