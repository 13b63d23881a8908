package types

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// Contents brings contents that the controller has, each of at most [schema.MostSource] bytes. It calls use for each of
// those asked for by their SHA-256, in order, which reads as much as it wants. It returns the first error, of use too;
// the others are not read then. It is called once at a time.
type Contents func(ctx context.Context, sums []string, use func(sum string, content io.Reader) error) error

// Fetch is [Contents] with contents that are what they should be: where one is not, use gets an error from its reader
// in place of the end.
func (s *Session) Fetch(ctx context.Context, sums []string, use func(sum string, content io.Reader) error) error {
	if s.Contents == nil {
		return errors.New("the content of source_file does not come with this session")
	}
	return s.Contents(ctx, sums, func(sum string, content io.Reader) error {
		return use(sum, &verified{content: content, sum: sum, hash: sha256.New(), limit: schema.MostSource})
	})
}

// verified reads a content, and fails at its end unless it has the SHA-256, or when it becomes larger than limit.
type verified struct {
	content     io.Reader
	sum         string
	hash        hash.Hash
	size, limit int64 // 0: no limit
}

func (v *verified) Read(p []byte) (int, error) {
	n, err := v.content.Read(p)
	v.hash.Write(p[:n])
	if v.size += int64(n); v.limit > 0 && v.size > v.limit {
		return 0, fmt.Errorf("the content has more than %d bytes", v.limit)
	}
	if errors.Is(err, io.EOF) && hex.EncodeToString(v.hash.Sum(nil)) != v.sum {
		return 0, fmt.Errorf("the content is not the one with the SHA-256 %s: its file has another by now", v.sum)
	}
	return n, err
}

// content is what a file should have.
type content struct {
	sum  string // SHA-256, in hexadecimal
	size int64  // in bytes, -1: not known
	read func(ctx context.Context, use func(io.Reader) error) error
	sent bool // by the controller, as it is read
}

// returningKept is a parameter that only release gives: the name of a kept file. No configuration can name it.
const returningKept = "\x00kept"

// hasContent is [schema.FileHasContent], also of what returns.
func hasContent(r resource.Resource) bool {
	return schema.FileHasContent(r) || r.Parameters.Has(returningKept)
}

// wantedContent returns the content that a file should have, where kind is what is there now; nil when any will do.
func wantedContent(s *Session, r resource.Resource, kind string) (*content, error) {
	switch p := r.Parameters; {
	case kind == fileFile && !p.BoolOr("replace", true):
	case p.Has(returningKept):
		return s.contentAt(system.BackupPath + "/" + p.String(returningKept))
	case p.Has("content"):
		return contentOf([]byte(p.String("content"))), nil
	case p.Has("content_base64"):
		if given := p.String("content_base64"); resource.SecretIn(given) { // not known: no file has it
			return contentOf([]byte(given)), nil
		}
		text, err := base64.StdEncoding.DecodeString(p.String("content_base64"))
		return contentOf(text), err
	case p.Has(schema.SourceSHA256):
		sum := p.String(schema.SourceSHA256)
		return &content{sum, -1, func(ctx context.Context, use func(io.Reader) error) error {
			return s.Fetch(ctx, []string{sum}, func(_ string, content io.Reader) error { return use(content) })
		}, true}, nil
	case p.Has("source"):
		sources := p.Strings("source")
		for i, source := range sources { // the first that is there
			c, err := s.contentAt(source)
			if err == nil {
				return c, nil
			}
			if i == len(sources)-1 || !errors.Is(err, fs.ErrNotExist) {
				return nil, fmt.Errorf("source: %w", err)
			}
		}
	}
	return nil, nil
}

func contentOf(text []byte) *content {
	return &content{resource.SHA256(text), int64(len(text)), func(_ context.Context, use func(io.Reader) error) error {
		return use(bytes.NewReader(text))
	}, false}
}

// contentAt returns that of a file of the node.
func (s *Session) contentAt(path string) (*content, error) {
	sum, size, err := s.sum(path)
	if err != nil {
		return nil, err
	}
	return &content{sum, size, func(_ context.Context, use func(io.Reader) error) error {
		f, _, err := s.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		return use(&verified{content: f, sum: sum, hash: sha256.New()})
	}, false}, nil
}

// sum returns the SHA-256 and the size of a file of the node.
func (s *Session) sum(path string) (sum string, size int64, err error) {
	f, _, err := s.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	h := sha256.New()
	if size, err = io.Copy(h, f); err != nil {
		return "", 0, err
	}
	return hex.EncodeToString(h.Sum(nil)), size, nil
}

// shortSum stands for a content in a difference, in Puppet's form.
func shortSum(sum string) string { return shortSumPrefix + sum[:8] }

const shortSumPrefix = "{sha256}"
