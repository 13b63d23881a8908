package types

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/slipway/terraform-provider-slipway/planner/converge/ledger"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// The bounds of a diff: of each of the two texts, of the diff itself, and of one of its lines.
const (
	diffTextLimit = 64 << 10 // bytes
	diffLines     = 30
	diffLineLimit = 160 // characters
)

// Diff shows how the content of a file differs, when any user of the node may read it, now and as it is wanted. Nobody
// can say of a content whether it is secret; that others are kept from reading it does, and that something sensitive
// was written into it.
func (fileType) Diff(ctx context.Context, s *Session, r resource.Resource) (string, error) {
	at := schema.FilePath(r)
	kind, info, err := look(s, at)
	if err != nil || kind != fileFile || wantedKind(r, kind) != fileFile || info.Size > diffTextLimit || s.hasSecret(at) {
		return "", err
	}
	open, err := openToAll(s, r, at, info)
	if err != nil || !open {
		return "", err
	}
	want, err := wantedContent(s, r, kind)
	if err != nil || want == nil || want.sent || want.size > diffTextLimit {
		return "", err
	}
	is, err := s.ReadFile(at)
	if err != nil {
		return "", err
	}
	var should bytes.Buffer
	err = want.read(ctx, func(content io.Reader) error {
		_, err := should.ReadFrom(content)
		return err
	})
	return textDiff(is, should.Bytes()), err
}

// hasSecret reports whether something sensitive was written into a file, as a whole or a part of it.
func (s *Session) hasSecret(at string) bool {
	at = s.ResolveLinks(at, true)
	return s.Ledger != nil && slices.ContainsFunc(s.Ledger.Entries, func(e *ledger.Entry) bool {
		return e.Secret() && s.IsOf(e, at)
	})
}

// IsOf reports whether an entry of the ledger is about a file, whose path leads through no link.
func (s *Session) IsOf(e *ledger.Entry, file string) bool {
	return slices.ContainsFunc(e.Paths(), func(at string) bool { return at != "" && s.ResolveLinks(at, true) == file })
}

// openToAll reports whether every user of the node may read a file, in its mode and in the one that is wanted.
func openToAll(s *Session, r resource.Resource, at string, info system.Info) (bool, error) {
	if system.ChmodBits(info.Mode)&0o004 == 0 {
		return false, nil
	}
	if r.Parameters.Has("mode") {
		mode, err := strconv.ParseUint(r.Parameters.String("mode"), 8, 12)
		if err != nil || mode&0o004 == 0 { // of a mode in letters, nothing is assumed
			return false, nil //nolint:nilerr // see above
		}
	}
	for dir := path.Dir(at); dir != "/"; dir = path.Dir(dir) {
		info, err := s.Lstat(dir + "/.")
		if err != nil || system.ChmodBits(info.Mode)&0o001 == 0 {
			return false, err
		}
	}
	return true, nil
}

// textDiff returns a unified diff of two texts, of its first 30 lines; nothing where one is no text, or larger than 64
// KiB.
func textDiff(is, should []byte) string {
	if !isText(is) || !isText(should) {
		return ""
	}
	_, hunks, found := strings.Cut(string(diff.Diff("is", is, "should", should)), "@@ ")
	if !found {
		return ""
	}
	var b strings.Builder
	lines := strings.SplitAfter("@@ "+hunks, "\n")
	lines = lines[:len(lines)-1]
	for _, line := range lines[:min(len(lines), diffLines)] {
		line = strings.TrimSuffix(line, "\n")
		if utf8.RuneCountInString(line) > diffLineLimit {
			line = string([]rune(line)[:diffLineLimit-1]) + "…"
		}
		b.WriteString(line + "\n")
	}
	if more := len(lines) - diffLines; more > 0 {
		fmt.Fprintf(&b, "and %d more lines\n", more)
	}
	return b.String()
}

// isText reports whether a content can be shown line by line.
func isText(content []byte) bool {
	return len(content) <= diffTextLimit && utf8.Valid(content) && !bytes.ContainsRune(content, 0)
}
