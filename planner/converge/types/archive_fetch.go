package types

import (
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// An archive is fetched into slipway's own folder, which only root can look into, and stays there for as long as its
// resource is worked on: what has the checksum is what is extracted, whatever others do to its source meanwhile. A
// session that was killed leaves it behind, and the next one removes it.
//
// What fetches a URL is a program of the node, curl or wget. Package net/http would make the helper 3.5 MB larger, 8.9
// MB, where 6.2 MB are the limit (tar, gzip, bzip2 and zip are 0.3 MB).
const (
	archiveAt = tarAt + ".xz" // xz makes the name of what it writes from that of what it reads
	tarAt     = system.WorkPath + "/archive"
)

// openArchive is an archive that was fetched and has its checksum.
type openArchive struct {
	of      resource.ID
	version string
	file    *os.File
	strip   int
	read    archiveReader // nil when it is not extracted
	brings  []extracted
}

// newHash returns the hash of the checksum of r.
func newHash(r resource.Resource) hash.Hash {
	switch schema.ArchiveChecksumType(r) {
	case "sha384":
		return sha512.New384()
	case "sha512":
		return sha512.New()
	}
	return sha256.New()
}

// digestOfFile returns the hash of a file of the node, empty when it is missing.
func digestOfFile(s *Session, at string, h hash.Hash) (string, error) {
	f, _, err := s.Open(s.ResolveLinks(at, true))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// archiveVersion returns what stands for the content of the archive that r wants, empty when that is not known: its
// checksum or, without one, that of the file on the node.
func archiveVersion(s *Session, r resource.Resource) (string, error) {
	sum := schema.ArchiveChecksum(r)
	if sum == "" {
		var err error
		if sum, err = digestOfFile(s, r.Parameters.String("source"), newHash(r)); err != nil || sum == "" {
			return "", err
		}
	}
	return "{" + schema.ArchiveChecksumType(r) + "}" + sum, nil
}

// Prepare fetches the archive that r wants, compares its checksum and, where it is extracted, reads all of it, before
// anything is recorded or changed.
func (archiveType) Prepare(ctx context.Context, s *Session, r resource.Resource) error {
	if schema.WantsAbsent(r) {
		return nil
	}
	_, err := openedArchive(ctx, s, r)
	return err
}

// openedArchive returns the archive that r wants, which it fetches unless that was done.
func openedArchive(ctx context.Context, s *Session, r resource.Resource) (*openArchive, error) {
	if o := s.archive; o != nil && o.of == r.ID() {
		return o, nil
	}
	if err := closeArchive(s); err != nil {
		return nil, err
	}
	o := &openArchive{of: r.ID(), strip: int(r.Parameters.IntOr("strip_components", 0))}
	err := o.fetch(ctx, s, r)
	if err == nil && r.Parameters.Bool("extract") {
		if o.read, err = o.readerOf(ctx, s); err == nil {
			o.brings, err = o.list()
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = errors.New("it ends too early: it was cut off, or is no zip and no tar, plain or compressed by gzip, bzip2, " +
				"xz or zstd")
		}
	}
	if err != nil {
		if o.file != nil {
			err = errors.Join(err, o.file.Close())
		}
		what := "source"
		switch {
		case r.Parameters.Has(resource.SourceFile):
			what = resource.SourceFile
		case !r.Sensitive():
			what = r.Parameters.String("source")
		}
		return nil, errors.Join(fmt.Errorf("%s: %w", what, err), s.RemoveAll(system.WorkPath))
	}
	s.archive = o
	return o, nil
}

// closeArchive drops the archive that was fetched.
func closeArchive(s *Session) error {
	if s.archive == nil {
		return nil
	}
	err := s.archive.file.Close()
	s.archive = nil
	return errors.Join(err, s.RemoveAll(system.WorkPath))
}

// fetch brings the archive to the node, and compares its checksum.
func (o *openArchive) fetch(ctx context.Context, s *Session, r resource.Resource) error {
	if _, err := s.MakeHome(); err != nil {
		return err
	}
	if err := s.RemoveAll(system.WorkPath); err != nil {
		return err
	}
	if err := s.MakeOwnDirectory(system.WorkPath); err != nil {
		return err
	}
	var err error
	switch source := r.Parameters.String("source"); {
	case source == "":
		err = s.Fetch(ctx, []string{schema.ArchiveChecksum(r)}, func(_ string, content io.Reader) error {
			return writeArchive(s, content)
		})
	case path.IsAbs(source):
		err = copyArchive(s, source)
	default:
		err = download(ctx, s, r)
	}
	if err != nil {
		return err
	}
	f, info, err := s.Open(archiveAt)
	if err != nil {
		return err
	}
	o.file = f
	if info.Size > mostArchiveBytes {
		return fmt.Errorf("has %d bytes, more than the limit of %d", info.Size, int64(mostArchiveBytes))
	}
	h := newHash(r)
	if _, err := io.Copy(h, f); err != nil {
		return err
	}
	is := hex.EncodeToString(h.Sum(nil))
	if should := schema.ArchiveChecksum(r); should != "" && should != is {
		return fmt.Errorf("has the checksum %s, not %s; nothing was changed", is, should)
	}
	o.version = "{" + schema.ArchiveChecksumType(r) + "}" + is
	return nil
}

func copyArchive(s *Session, source string) error {
	f, info, err := s.Open(s.ResolveLinks(source, true))
	if err != nil {
		return err
	}
	defer f.Close()
	if info.Size > mostArchiveBytes {
		return fmt.Errorf("has %d bytes, more than the limit of %d", info.Size, int64(mostArchiveBytes))
	}
	return writeArchive(s, io.LimitReader(f, mostArchiveBytes+1))
}

func writeArchive(s *Session, content io.Reader) error {
	private := fs.FileMode(0o600)
	return s.ReplaceUnsynced(archiveAt, content, system.Attributes{Mode: &private})
}

// download has a program of the node fetch a URL. curl reads all of it from its standard input, so that neither the
// password nor the URL is in an argument list.
func download(ctx context.Context, s *Session, r resource.Resource) error {
	if !s.Machine() {
		return system.ErrSandbox
	}
	p, source := r.Parameters, r.Parameters.String("source")
	c := system.Command{EndsWithSession: true, FileLimit: mostArchiveBytes, Timeout: packageTimeout}
	if proxy := p.String("proxy_server"); proxy != "" {
		c.Env = []string{"http_proxy=" + proxy, "https_proxy=" + proxy}
	}
	curl, err := s.Program("curl")
	if err != nil {
		return err
	}
	wget, err := s.Program("wget")
	if err != nil {
		return err
	}
	scheme, _, _ := strings.Cut(source, ":")
	switch {
	case curl != "":
		c.Argv = []string{curl, "--disable", "--config", "-"} // without the user's .curlrc
		settings := []string{
			"fail", "silent", "show-error", "location", setting("proto", "="+scheme), setting("proto-redir", "=https,"+scheme),
			"connect-timeout = 30", "retry = 2", "speed-limit = 1", "speed-time = 60",
			fmt.Sprintf("max-filesize = %d", int64(mostArchiveBytes)),
			setting("url", source), setting("output", archiveAt),
		}
		if p.Has("username") {
			settings = append(settings, setting("user", p.String("username")+":"+p.String("password")))
		}
		c.Stdin = []byte(strings.Join(settings, "\n") + "\n")
	case p.Has("username") || r.Sensitive():
		return errors.New("the node has no curl, and every user of it could read the URL or the password in the arguments of " +
			"wget; install curl first, with package and require")
	case wget != "":
		c.Argv = []string{wget, "-T", "60", "-O", archiveAt, "--", source}
	default:
		return errors.New("the node has neither curl nor wget; install one of them first, with package and require")
	}
	return runBounded(ctx, s, c)
}

// runBounded runs a command that writes a file of a bounded size.
func runBounded(ctx context.Context, s *Session, c system.Command) error {
	const tooLarge = 128 + 25 // SIGXFSZ
	out, err := s.Run(ctx, c)
	if err == nil && out.Status == tooLarge {
		return fmt.Errorf("has more than the limit of %d bytes", c.FileLimit)
	}
	if err == nil && out.Status != 0 {
		err = toolError(c, out)
	}
	return err
}

// setting is a line of curl's configuration.
func setting(name, value string) string {
	return name + ` = "` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value) + `"`
}
