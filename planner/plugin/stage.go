package plugin

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

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

// StageError is a text that is not a stage; its code is [BadStage].
type StageError struct {
	Text  string // as the user wrote it
	Cause string // what is wrong with it, then what would be right
}

func (e *StageError) Error() string { return fmt.Sprintf("%q is not a stage: %s", e.Text, e.Cause) }

// ParseStage parses `pre_deployment` or `post_deployment`, alone or with a number after a slash: an integer or decimal
// number with an optional sign, without exponent (fuel.md A1). Anything else is a *[StageError] (fuel.md F-03, F-04,
// F-09).
func ParseStage(text string) (Stage, error) {
	name, postfix, numbered := strings.Cut(text, "/")
	if cause := checkStageName(name); cause != "" {
		return Stage{}, &StageError{text, cause}
	}
	if !numbered {
		return Stage{Name: name}, nil
	}
	if !isDecimal(postfix) {
		cause := fmt.Sprintf("%q is not a number such as 100, -5 or 99.9", postfix)
		if postfix == "" {
			cause = "the number after the slash is missing"
		}
		return Stage{}, &StageError{text, cause}
	}
	priority, err := strconv.ParseFloat(postfix, 64)
	if err != nil { // out of range: the form has been checked
		return Stage{}, &StageError{text, "the number is too large"}
	}
	return Stage{name, priority}, nil
}

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

// isDecimal reports whether s is [-+]?([0-9]*\.[0-9]+|[0-9]+).
func isDecimal(s string) bool {
	if s != "" && (s[0] == '-' || s[0] == '+') {
		s = s[1:]
	}
	whole, fraction, point := strings.Cut(s, ".")
	if point {
		return allDigits(whole) && fraction != "" && allDigits(fraction)
	}
	return whole != "" && allDigits(whole)
}

func allDigits(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < '0' || r > '9' })
}
