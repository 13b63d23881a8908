package resource

import "fmt"

// Text is text that comes from outside this program, from nodes, servers and networks, and may contain terminal control
// sequences. Every verb prints it without them ([Visible]); only a conversion to string returns it unchanged. So an
// error whose message is a Text cannot send what a node or server wrote to a terminal.
type Text string

// Textf formats a message that may quote text from outside.
func Textf(format string, args ...any) Text { return Text(fmt.Sprintf(format, args...)) }

// String returns the text cleaned.
func (t Text) String() string { return Visible(string(t)) }

// Format prints the text cleaned.
func (t Text) Format(s fmt.State, verb rune) { fmt.Fprintf(s, fmt.FormatString(s, verb), t.String()) }
