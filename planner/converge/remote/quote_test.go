package remote

import (
	"os/exec"
	"strings"
	"testing"
)

func FuzzQuote(f *testing.F) {
	for _, s := range []string{"", "a b", "it's", "'", "''", `\`, `\'`, "$HOME `id` $(id)", "a\nb", "*", "~", "-n", "\x01\xff", "!!", `"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if strings.ContainsRune(s, 0) {
			return // no argument of a program can hold it
		}
		for _, command := range []string{
			"printf %s " + quote(s),
			"sh -c " + quote("printf %s "+quote(s)),
		} {
			out, err := exec.Command("/bin/sh", "-c", command).Output()
			if err != nil || string(out) != s {
				t.Errorf("%s gives %q, want %q, error %v", command, out, s, err)
			}
		}
	})
}

// fish and csh read backslashes, line breaks and ! inside single quotes in ways of their own.
func TestTheBootstrapPassesThroughForeignShells(t *testing.T) {
	h := NewHelpers(nil)
	if script := h.bootstrap(newMark()); strings.ContainsAny(script, "'\\!\n") {
		t.Errorf("the script holds a character that some shell takes apart: %s", script)
	}
	for _, sudo := range []bool{false, true} {
		command := strings.ReplaceAll(h.command(newMark(), sudo, "prompt:"), `'\''`, "")
		if strings.ContainsAny(command, "\\!\n") {
			t.Errorf("the command holds a character that some shell takes apart: %s", command)
		}
	}
}
