// Package outside has the type of text that others than this program wrote: nodes, servers, networks, in whatever part of it.
package outside

import (
	"fmt"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// Text is text that may act on the terminal which shows it. It prints, with every verb, without what does so ([resource.Visible]); only a conversion
// to string gives it as it came. An error whose message is a Text cannot bring what a node or server said to a terminal, wherever it is quoted.
type Text string

// Textf formats a message that may quote text from outside.
func Textf(format string, args ...any) Text { return Text(fmt.Sprintf(format, args...)) }

// String returns the text cleaned.
func (t Text) String() string { return resource.Visible(string(t)) }

// Format prints the text cleaned.
func (t Text) Format(s fmt.State, verb rune) { fmt.Fprintf(s, fmt.FormatString(s, verb), t.String()) }
