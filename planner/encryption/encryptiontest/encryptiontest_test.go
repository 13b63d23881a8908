package encryptiontest

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"testing"
)

// TestForm checks that a secret is found in each form, wherever it is in a text.
func TestForm(t *testing.T) {
	const secret = "a\"<correct-horse-battery-1>&b"
	for before := range 5 {
		for after := range 5 {
			text := fmt.Appendf(nil, "%.*s%s%.*s", before, "abcde", secret, after, "vwxyz")
			for name, encoded := range map[string]string{"clear": string(text), "hexadecimal": hex.EncodeToString(text),
				"quoted": fmt.Sprintf("%q", text), "base64": base64.StdEncoding.EncodeToString(text),
				"twice": base64.StdEncoding.EncodeToString([]byte(base64.StdEncoding.EncodeToString(text)))} {
				if Form([]byte(encoded), secret) == "" {
					t.Errorf("%s of %q: not found", name, text)
				}
			}
		}
	}
	if form := Form([]byte("correct-horse-battery-2"), secret); form != "" {
		t.Errorf("found as %s where it is not", form)
	}
}
