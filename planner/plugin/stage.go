package plugin

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// The stages of a run, in their order. The work of the site itself lies between them: a number, however low, never
// takes a task out of its stage (fuel.md F-06).
const (
	PreDeployment  = "pre_deployment"
	PostDeployment = "post_deployment"
)

// Stages returns the names of the stages in the order of a run.
func Stages() []string { return []string{PreDeployment, PostDeployment} }

// Stage is the stage and the number of a task.
type Stage struct {
	Name     string
	Priority float64 // lower ones first; 0 where none is written
}

// ParseStage parses `pre_deployment` or `post_deployment`, alone or with a number after a slash: an integer or decimal
// number with an optional sign, without exponent (fuel.md A1). Anything else is an [invalid.Errors] (fuel.md F-03,
// F-04, F-09).
func ParseStage(text string) (Stage, error) {
	name, postfix, numbered := strings.Cut(text, "/")
	fail := func(format string, args ...any) (Stage, error) {
		return Stage{}, invalid.Errors{{Code: BadStage,
			Message: fmt.Sprintf("%q is not a stage: ", text) + fmt.Sprintf(format, args...)}}
	}
	if cause := checkStageName(name); cause != "" {
		return fail("%s", cause)
	}
	switch {
	case !numbered:
		return Stage{Name: name}, nil
	case postfix == "":
		return fail("the number after the slash is missing")
	case !decimal.MatchString(postfix):
		return fail("%q is not a number such as 100, -5 or 99.9", postfix)
	}
	priority, err := strconv.ParseFloat(postfix, 64)
	if err != nil { // out of range: the form has been checked
		return fail("the number is too large")
	}
	return Stage{name, priority}, nil
}

// decimal is the form of the number of a stage.
var decimal = regexp.MustCompile(`^[-+]?([0-9]*\.)?[0-9]+$`)

func checkStageName(name string) string {
	if slices.Contains(Stages(), name) {
		return ""
	}
	known := strings.Join(Stages(), " or ")
	if before, after, found := strings.Cut(name, ":"); found && slices.Contains(Stages(), before) {
		return fmt.Sprintf("the number comes after a slash, %s/%s", before, strings.Trim(after, ": "))
	}
	if near := resource.Nearest(strings.ToLower(name), Stages()); near != "" {
		return fmt.Sprintf("did you mean %s?", near)
	}
	return fmt.Sprintf("write %s, with or without a number: %s/100", known, PreDeployment)
}
