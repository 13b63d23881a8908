package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
)

// Message is an error or a warning of an operation.
type Message struct {
	Warning   bool
	Attribute string // of the deployment, such as services; empty when it is about none
	Summary   string // without a full stop
	Detail    string
}

func (m *Message) Error() string { return m.Summary + ": " + m.Detail }

// Messages are what an operation reports, in order. Each is a *[Message] or a [invalid.Error].
type Messages []error

// Failed reports whether there are errors among the messages.
func (m Messages) Failed() bool {
	return slices.ContainsFunc(m, func(e error) bool { return !IsWarning(e) })
}

// IsWarning reports whether a message is a warning.
func IsWarning(e error) bool {
	switch e := e.(type) {
	case *Message:
		return e.Warning
	case invalid.Error:
		return e.Warning
	}
	return false
}

func (m *Messages) fail(summary, detail string, args ...any) {
	*m = append(*m, &Message{Summary: summary, Detail: fmt.Sprintf(detail, args...)})
}

func (m *Messages) warn(summary, detail string, args ...any) {
	*m = append(*m, &Message{Warning: true, Summary: summary, Detail: fmt.Sprintf(detail, args...)})
}

// add adds messages.
func (m *Messages) add(more Messages) { *m = append(*m, more...) }

// nameRun adds the run to hints at its report; without a run, the newest one is reported.
func (m Messages) nameRun(id string) {
	for _, e := range m {
		if message, ok := e.(*Message); ok {
			message.Detail = strings.ReplaceAll(message.Detail, "`report` shows", "`report "+id+"` shows")
		}
	}
}

func (m *Messages) errs(errs invalid.Errors) {
	for _, p := range errs {
		*m = append(*m, p)
	}
}

// linesShown bounds a list in a message.
const linesShown = 20

// FirstLines returns the first lines of a list, and how many more there are.
func FirstLines(lines []string) []string {
	if len(lines) <= linesShown {
		return lines
	}
	return append(slices.Clone(lines[:linesShown]), fmt.Sprintf("and %d more", len(lines)-linesShown))
}
