package schema

import (
	"errors"
	"fmt"
	"regexp"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// FileLine declares the type file_line, with the meaning of the module puppetlabs-stdlib.
func FileLine() resource.Schema {
	const expression = " A regular expression of Go (RE2)."
	return resource.Schema{
		Type:       "file_line",
		Summary:    "A line of a text file; the title is of your choice. Everything else in the file stays as it is.",
		Restorable: true,
		Parameters: []resource.Parameter{
			{Name: "ensure", Kind: resource.String, Values: []string{"present", "absent"},
				Description: "Whether the line is there. Default: present."},
			{Name: "path", Kind: resource.String, Required: true, Check: checkFilePath, Description: "Absolute path of the file. It is made when it is not there, with mode 0644, or 0600 for a sensitive line; its directory must be there."},
			{Name: "line", Kind: resource.String, Secret: true, Check: checkWholeLine,
				Description: "The whole line. Required, unless `match_for_absence` says which lines go. For a secret in plain text, set `sensitive = true`."},
			{Name: "match", Kind: resource.String, Check: checkExpression,
				Description: "The line that gives way to `line`, where that is not there yet; where none matches, it is a new line." + expression},
			{Name: "after", Kind: resource.String, Check: checkExpression,
				Description: "The line after which a new line is put; where none matches, it is put at the end." + expression},
			{Name: "multiple", Kind: resource.Bool,
				Description: "Whether `match` and `after` may match several lines: all of those give way, or a new line comes after each. Default: false, and several are an error."},
			{Name: "match_for_absence", Kind: resource.Bool,
				Description: "Whether `ensure = \"absent\"` removes the lines that `match` matches. Default: false, it removes those that equal `line`."},
		},
		Check:  checkFileLine,
		Alike:  ensureAlike("present", nil),
		Target: fileLineTarget,
	}
}

func checkWholeLine(value any) error {
	if value == "" {
		return resource.Rule("must not be empty")
	}
	return checkOneLine(value)
}

func checkExpression(value any) error {
	text, _ := value.(string)
	if text == "" {
		return errors.New("must not be empty: it would match every line")
	}
	if _, err := regexp.Compile(text); err != nil {
		return fmt.Errorf("is no regular expression: %w", err)
	}
	return nil
}

func checkFileLine(r resource.Resource) []invalid.Error {
	var errs []invalid.Error
	fail := func(parameter, message string) {
		errs = append(errs, invalid.Error{Attribute: parameter, Message: message})
	}
	p, absent := r.Parameters, WantsAbsent(r)
	byMatch := p.Bool("match_for_absence")
	switch {
	case byMatch && !absent:
		fail("match_for_absence", `goes with ensure = "absent" only`)
	case byMatch && !p.Has("match"):
		fail("match_for_absence", "needs match, which says what lines go")
	case !byMatch && !p.Has("line"):
		fail("line", "must be given")
	}
	if absent && !byMatch && p.Has("match") {
		fail("match", `does not go with ensure = "absent", but for match_for_absence = true`)
	}
	if absent && p.Has("after") {
		fail("after", `does not go with ensure = "absent"`)
	}
	return errs
}

// fileLineTarget is the line in its file. What else it removes, or takes the place of, is part of the aim.
func fileLineTarget(r resource.Resource) (name, aim string) {
	p := r.Parameters
	line := p.StringOr("line", p.String("match"))
	if r.Sensitive() && !resource.SecretIn(line) { // a reference to a secret may be shown
		line = r.Title
	}
	if p.Bool("match_for_absence") {
		line = p.String("match")
	}
	return p.String("path") + " " + line, p.StringOr("ensure", "present") + " " + p.String("match")
}
