package resource

import (
	"fmt"
	"strings"
	"testing"
)

func TestTextIsPrintedCleaned(t *testing.T) {
	text := Textf("a %s b\n\tc", "\x1b]0;owned\a\u202e\u009b")
	for _, format := range []string{"%v", "%s", "%+v", "%q", "%#v", "%40s", "%-5.3s"} {
		got := fmt.Sprintf(format, text)
		if strings.ContainsAny(got, "\x1b\a\u202e\u009b") || strings.Contains(got, `\x`) ||
			strings.Contains(got, `\u`) {
			t.Errorf("%s prints %q", format, got)
		}
		if want := fmt.Sprintf(format, "a ]0;owned b\n\tc"); got != want {
			t.Errorf("%s prints %q, want %q", format, got, want)
		}
	}
	if got := fmt.Sprint(struct{ T Text }{text}); strings.ContainsAny(got, "\x1b\a") {
		t.Errorf("in a struct it prints %q", got)
	}
}
