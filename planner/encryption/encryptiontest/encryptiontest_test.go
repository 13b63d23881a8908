package encryptiontest

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
)

// packed returns a text as gzip packs it.
func packed(t *testing.T, text []byte) string {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(text); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestForm checks that a secret is found in each form, wherever it is in a text.
func TestForm(t *testing.T) {
	const secret = "a\"<correct-horse-battery-1>&b"
	for before := range 5 {
		for after := range 5 {
			text := fmt.Appendf(nil, "%.*s%s%.*s", before, "abcde", secret, after, "vwxyz")
			for name, encoded := range map[string]string{"clear": string(text), "hexadecimal": hex.EncodeToString(text),
				"quoted": fmt.Sprintf("%q", text), "base64": base64.StdEncoding.EncodeToString(text),
				"capitals": strings.ToUpper(hex.EncodeToString(text)), "for URLs": base64.URLEncoding.EncodeToString(text),
				"behind a word": "key/" + base64.StdEncoding.EncodeToString([]byte(hex.EncodeToString(text))),
				"a dump":        "\\\\x" + hex.EncodeToString([]byte(base64.StdEncoding.EncodeToString(text))), "packed": "ab" + packed(t, text),
				"twice": base64.StdEncoding.EncodeToString([]byte(base64.StdEncoding.EncodeToString(text)))} {
				if Form([]byte(encoded), secret) == "" {
					t.Errorf("%s of %q: not found", name, text)
				}
			}
		}
	}
	// Both alphabets of base64 have signs of their own for what is before the secret.
	if text := base64.RawURLEncoding.EncodeToString([]byte("~?>~?>~?>" + secret)); Form([]byte(text), secret) == "" {
		t.Errorf("%s: not found", text)
	}
	if form := Form([]byte("correct-horse-battery-2"), secret); form != "" {
		t.Errorf("found as %s where it is not", form)
	}
}
