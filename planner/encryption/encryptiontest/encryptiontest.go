// Package encryptiontest finds secrets in what others store.
package encryptiontest

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// forms returns how a secret may be found, by the name of the form: clear also stands for what is escaped, SHA-256 for
// the start of one.
func forms(secret string) map[string]string {
	sum := sha256.Sum256([]byte(secret))
	forms := map[string]string{
		"clear": strings.Trim(secret, "a\"<>&b"), "SHA-256": hex.EncodeToString(sum[:8]), "SHA-256 as bytes": string(sum[:]),
		"SHA-256 in base64": strings.TrimRight(base64.StdEncoding.EncodeToString(sum[:]), "="),
		"hexadecimal":       hex.EncodeToString([]byte(secret)),
	}
	for offset := range 3 { // of the secret in a longer text
		text := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("x", offset) + secret))
		forms[fmt.Sprintf("base64 at %d", offset)] = text[4 : len(text)-4]
	}
	return forms
}

var (
	encoded = map[*base64.Encoding]*regexp.Regexp{base64.RawStdEncoding: regexp.MustCompile(`[A-Za-z0-9+/]{24,}`),
		base64.RawURLEncoding: regexp.MustCompile(`[A-Za-z0-9_-]{24,}`)}
	digits = regexp.MustCompile(`(?:[0-9A-Fa-f]{2}){24,}`)
)

// gzipped begins what gzip packs.
const gzipped = "\x1f\x8b\x08"

// decoded returns what parts of a text are decoded, by their encoding.
func decoded(text []byte) map[string][][]byte {
	out := map[string][][]byte{}
	for encoding, parts := range encoded {
		for _, part := range parts.FindAll(text, -1) {
			if _, err := hex.DecodeString(string(part[:len(part)/2*2])); err == nil { // it is decoded below
				continue
			}
			for offset := range 4 { // what is before it may have the same signs
				whole := part[offset:]
				if inner, err := encoding.DecodeString(string(whole[:len(whole)/4*4])); err == nil {
					out["base64"] = append(out["base64"], inner)
				}
			}
		}
	}
	for _, part := range digits.FindAll(text, -1) {
		if inner, err := hex.DecodeString(string(part)); err == nil {
			out["hexadecimal digits"] = append(out["hexadecimal digits"], inner)
		}
	}
	for rest := text; ; {
		at := bytes.Index(rest, []byte(gzipped))
		if at < 0 {
			return out
		}
		if r, err := gzip.NewReader(bytes.NewReader(rest[at:])); err == nil {
			inner, _ := io.ReadAll(r) // what comes behind it is no gzip
			out["gzip"] = append(out["gzip"], inner)
		}
		rest = rest[at+len(gzipped):]
	}
}

// Form reports in which form a text, or what is encoded or packed in it, has a secret; empty when it has it in none.
// Secrets of tests have at least 24 bytes, so that none is found by chance. Between marks, as in a"<SECRET>&b, no
// encoding of text changes them, and with the marks Go, JSON, HCL and HTML write them in different ways.
func Form(text []byte, secret string) string {
	for form, sign := range forms(secret) {
		if bytes.Contains(text, []byte(sign)) {
			return form
		}
	}
	if packed, err := zip.NewReader(bytes.NewReader(text), int64(len(text))); err == nil {
		for _, f := range packed.File {
			r, err := f.Open()
			if err != nil {
				return "a file that cannot be opened"
			}
			content, err := io.ReadAll(r)
			if err != nil {
				return "a file that cannot be read"
			}
			if form := Form(content, secret); form != "" {
				return f.Name + ": " + form
			}
		}
		return ""
	}
	for name, inner := range decoded(text) {
		for _, content := range inner {
			if form := Form(content, secret); form != "" {
				return "in " + name + ": " + form
			}
		}
	}
	return ""
}
