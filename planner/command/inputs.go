package command

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
)

// input is a FILE of a command that takes several kinds of documents.
type input struct {
	document.Source
	argument string // as given
	kind     document.Kind
	is       string // what it looks like, for messages
}

// siteKinds lists what describes a site, in the help and the errors of commands that take other documents as well.
const siteKinds = "what describes a site (site documents, catalogs, an Airship DeploymentStrategy, or what `terraform show -json` prints of a plan file or a state)"

// inputs reads files and finds their kinds. A file that is neither of the kind own nor part of a site is an error of
// status 2; takes lists what is right.
func inputs(cmd *cobra.Command, names []string, own document.Kind, takes string) ([]input, error) {
	for i, name := range names {
		if name != "-" && slices.Contains(names[:i], name) {
			return nil, inputError(fmt.Errorf("%s is named twice", name))
		}
	}
	all, err := sources(cmd, names)
	if err != nil {
		return nil, err
	}
	out := make([]input, len(all))
	var errs invalid.Errors
	for i, s := range all {
		kind, is := document.KindOf(s)
		out[i] = input{s, names[i], kind, is}
		if kind != own && kind != document.Unclear && !kind.DescribesSite() {
			errs = append(errs, out[i].wrong(takes))
		}
	}
	if len(errs) > 0 {
		return nil, inputError(errs)
	}
	return out, nil
}

// wrong returns the error that the file is of the wrong kind.
func (in input) wrong(right string) invalid.Error {
	return invalid.Error{File: in.Name, Code: document.Schema, Message: in.is + "; " + right}
}

// splitInputs separates the inputs that describe a site from the others.
func splitInputs(all []input) (ofSite, others []input) {
	for _, in := range all {
		if in.kind.DescribesSite() {
			ofSite = append(ofSite, in)
		} else {
			others = append(others, in)
		}
	}
	return ofSite, others
}

// parseInputs parses the inputs that describe a site, nil when there are none; an address is refused then. Invalid
// documents are an error of status 2.
func parseInputs(all []input, address string) (*document.Site, error) {
	if len(all) == 0 {
		return nil, checkAddress(address, false)
	}
	parts := make([]document.Source, len(all))
	for i, in := range all {
		parts[i] = in.Source
	}
	s, err := document.ParseSite(parts, document.Options{Address: address, Check: planner.CheckParts})
	if err == nil {
		err = readDirectories(s)
	}
	if err != nil {
		return nil, inputError(err)
	}
	return s, checkAddress(address, s.Shown)
}
