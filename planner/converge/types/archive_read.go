package types

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
)

// The bounds of an archive.
const (
	mostArchiveBytes   = 2 << 30  // of the archive itself
	mostExtractedBytes = 4 << 30  // of all its files together
	mostExtracted      = 50_000   // entries
	mostZipDirectory   = 64 << 20 // bytes of the list at the end of a zip
)

// extracted is something that an archive brings, as it is recorded.
type extracted struct {
	Path   octets `json:"path"` // below the directory to extract into
	Kind   string `json:"kind"`
	Mode   uint32 `json:"mode,omitempty"`   // of a file or directory, as in chmod
	Size   int64  `json:"size,omitempty"`   // of a file
	Digest string `json:"digest,omitempty"` // of a file, SHA-256
	Target octets `json:"target,omitempty"` // of a link
}

// entry is one of an archive, as it comes.
type entry struct {
	extracted
	copied string // the file of which a hard link is another name
}

// archiveReader calls each for the entries of an archive in their order, with the content of files.
type archiveReader func(each func(e entry, content io.Reader) error) error

// readerOf finds out by its first bytes what the archive at WorkPath is, and returns what reads it.
func (o *openArchive) readerOf(ctx context.Context, s *Session) (archiveReader, error) {
	magic := make([]byte, 6)
	n, err := o.file.ReadAt(magic, 0)
	switch {
	case n == 0 && errors.Is(err, io.EOF):
		return nil, errors.New("it is empty; it must be a zip or a tar, plain or compressed by gzip, bzip2, xz or zstd")
	case errors.Is(err, io.EOF): // it is shorter than what is looked for
		err = nil
	case err != nil:
		return nil, err
	}
	is := func(start string) bool { return strings.HasPrefix(string(magic[:n]), start) }
	switch {
	case is("PK\x03\x04"), is("PK\x05\x06"):
		return o.readZip(ctx)
	case is("\xfd7zXZ\x00"):
		err = o.decompress(ctx, s, "xz", "-d", "-k", "-f", "--", archiveAt)
	case is("\x28\xb5\x2f\xfd"):
		err = o.decompress(ctx, s, "zstd", "-d", "-f", "-q", "-o", tarAt, "--", archiveAt)
	}
	if err != nil {
		return nil, err
	}
	return func(each func(entry, io.Reader) error) error {
		if _, err := o.file.Seek(0, io.SeekStart); err != nil {
			return err
		}
		var from io.Reader = o.file
		switch {
		case is("\x1f\x8b"):
			if from, err = gzip.NewReader(o.file); err != nil {
				return err
			}
		case is("BZh"):
			from = bzip2.NewReader(o.file)
		}
		return o.readTar(ctx, tar.NewReader(from), each)
	}, nil
}

// decompress has a program of the node decompress the archive, and goes on with what that wrote.
func (o *openArchive) decompress(ctx context.Context, s *Session, name string, args ...string) error {
	program, err := s.Program(name)
	if err != nil {
		return err
	}
	if program == "" {
		return fmt.Errorf("it is compressed by %s, which the node does not have; install it first, with package and "+
			"require", name)
	}
	c := system.Command{
		Argv: append([]string{program}, args...), EndsWithSession: true, FileLimit: mostExtractedBytes,
		Timeout: packageTimeout,
	}
	if err := runBounded(ctx, s, c); err != nil {
		return err
	}
	f, _, err := s.Open(tarAt)
	if err == nil {
		_ = o.file.Close() // it was only read
		o.file = f
	}
	return err
}

func (o *openArchive) readTar(ctx context.Context, t *tar.Reader, each func(entry, io.Reader) error) error {
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if errors.Is(err, tar.ErrHeader) {
			err = errors.New("it is neither a zip nor a tar, plain or compressed by gzip, bzip2, xz or zstd, or it is damaged")
		}
		if err != nil || ctx.Err() != nil {
			return errors.Join(err, context.Cause(ctx))
		}
		e := entry{extracted: extracted{Mode: uint32(h.Mode & 0o777)}}
		switch h.Typeflag {
		case tar.TypeXGlobalHeader:
			continue
		case tar.TypeReg, tar.TypeCont, tar.TypeGNUSparse:
			e.Kind = fileFile
		case tar.TypeDir:
			e.Kind = fileDirectory
		case tar.TypeSymlink:
			e.Kind, e.Target = fileLink, octets(h.Linkname)
		case tar.TypeLink:
			e.Kind = fileFile
			if e.copied, err = o.name(h.Linkname); err != nil {
				return err
			}
		default:
			return entryError(h.Name, "is neither a file, nor a directory, nor a link")
		}
		if err := o.pass(h.Name, e, t, each); err != nil {
			return err
		}
	}
}

func (o *openArchive) readZip(ctx context.Context) (archiveReader, error) {
	info, err := o.file.Stat()
	if err != nil {
		return nil, err
	}
	if err := checkZipDirectory(o.file, info.Size()); err != nil {
		return nil, err
	}
	z, err := zip.NewReader(o.file, info.Size())
	if err != nil {
		return nil, err
	}
	return func(each func(entry, io.Reader) error) error {
		for _, f := range z.File {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err := o.passZip(f, each); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

func (o *openArchive) passZip(f *zip.File, each func(entry, io.Reader) error) (err error) {
	const encrypted, unix, darwin = 1, 3, 19 // the latter two are systems that have modes
	e := entry{extracted: extracted{Mode: uint32(f.Mode().Perm())}}
	if creator := f.CreatorVersion >> 8; creator != unix && creator != darwin {
		if e.Mode = 0o644; f.Mode().IsDir() {
			e.Mode = 0o755
		}
	}
	switch mode := f.Mode(); {
	case strings.Contains(f.Name, `\`):
		return entryError(f.Name, "has a backslash in its name")
	case f.Flags&encrypted != 0:
		return entryError(f.Name, "is encrypted")
	case mode.IsDir():
		e.Kind = fileDirectory
	case mode.IsRegular():
		e.Kind = fileFile
	case mode&fs.ModeSymlink != 0:
		e.Kind = fileLink
	default:
		return entryError(f.Name, "is neither a file, nor a directory, nor a link")
	}
	if e.Kind == fileDirectory {
		return o.pass(f.Name, e, nil, each)
	}
	content, err := f.Open()
	if err != nil {
		return entryError(f.Name, err.Error())
	}
	defer func() { err = errors.Join(err, content.Close()) }()
	if e.Kind == fileLink {
		const longest = 4096 // of a target, to the kernel
		target, err := io.ReadAll(io.LimitReader(content, longest))
		if err != nil {
			return err
		}
		e.Target = octets(target)
	}
	return o.pass(f.Name, e, content, each)
}

// checkZipDirectory refuses a list of entries that would not fit into memory.
func checkZipDirectory(f io.ReaderAt, size int64) error {
	const end, longest = 22, 22 + 1<<16 // bytes of the record at the end, without and with a comment
	tail := make([]byte, min(size, longest))
	if _, err := f.ReadAt(tail, size-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	i := bytes.LastIndex(tail, []byte("PK\x05\x06"))
	if i < 0 || len(tail)-i < end {
		return errors.New("it is not a whole zip")
	}
	if n := binary.LittleEndian.Uint32(tail[i+12:]); n > mostZipDirectory {
		return fmt.Errorf("it has more entries than the limit of %d", mostExtracted)
	}
	return nil
}

func entryError(name, what string) error {
	return fmt.Errorf("its entry %q %s; nothing was extracted", shorten(name), what)
}

// pass calls each for an entry under its name below the directory, unless strip_components leaves it out.
func (o *openArchive) pass(name string, e entry, content io.Reader, each func(entry, io.Reader) error) error {
	below, err := o.name(name)
	if err != nil || below == "" {
		return err
	}
	e.Path = octets(below)
	return each(e, content)
}

// name returns the name of an entry below the directory, empty for the directory itself and for what strip_components
// leaves out.
func (o *openArchive) name(name string) (string, error) {
	parts := slices.DeleteFunc(strings.Split(name, "/"), func(p string) bool { return p == "" || p == "." })
	switch {
	case path.IsAbs(name):
		return "", entryError(name, "has an absolute path")
	case slices.Contains(parts, ".."):
		return "", entryError(name, "has .. in its path")
	case strings.ContainsRune(name, 0):
		return "", entryError(name, "has a NUL in its name")
	}
	if len(parts) <= o.strip {
		return "", nil
	}
	return strings.Join(parts[o.strip:], "/"), nil
}

// listing is what an archive brings, by path.
type listing map[string]*extracted

// list reads the whole archive and returns what it brings, in the order of the paths, so that what is in a directory
// comes after it. All that could lead out of the directory, or exceeds the bounds, is an error.
func (o *openArchive) list() ([]extracted, error) {
	all, total := listing{}, int64(0)
	err := o.read(func(e entry, content io.Reader) error {
		if err := all.add(e); err != nil {
			return err
		}
		if e.Kind != fileFile {
			return nil
		}
		is := all[string(e.Path)]
		if e.copied != "" {
			of := all[e.copied]
			if of == nil || of == is || of.Kind != fileFile {
				return entryError(string(e.Path), "is a hard link to no file of the archive that comes before it")
			}
			is.Size, is.Digest, is.Mode = of.Size, of.Digest, of.Mode
		} else {
			sum := sha256.New()
			n, err := io.Copy(sum, io.LimitReader(content, mostExtractedBytes-total+1))
			if err != nil {
				return err
			}
			is.Size, is.Digest = n, hex.EncodeToString(sum.Sum(nil))
		}
		if total += is.Size; total > mostExtractedBytes {
			return fmt.Errorf("its files have more than %d GiB together", mostExtractedBytes>>30)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	list := make([]extracted, 0, len(all))
	for at, e := range all {
		if e.Kind == fileLink && !all.inside(at, string(e.Target)) {
			return nil, entryError(at, fmt.Sprintf("is a link to %q, out of the directory that it is extracted into",
				shorten(string(e.Target))))
		}
		list = append(list, *e)
	}
	if len(list) == 0 {
		return nil, errors.New("nothing is in it to extract; see strip_components")
	}
	slices.SortFunc(list, byPath)
	return list, nil
}

// add notes an entry, and the directories above it.
func (l listing) add(e entry) error {
	at := string(e.Path)
	for dir := path.Dir(at); dir != "."; dir = path.Dir(dir) {
		if l[dir] == nil {
			l[dir] = &extracted{Path: octets(dir), Kind: fileDirectory, Mode: 0o755}
		}
		if l[dir].Kind != fileDirectory {
			return entryError(at, fmt.Sprintf("is below %q, which is no directory", dir))
		}
	}
	if was := l[at]; was != nil && (was.Kind != fileDirectory || e.Kind != fileDirectory) {
		return entryError(at, "is there twice")
	}
	l[at] = &e.extracted
	if len(l) > mostExtracted {
		return fmt.Errorf("it has more entries than the limit of %d", mostExtracted)
	}
	return nil
}

// inside reports whether the target of a link stays below the directory, also through other links of the archive.
func (l listing) inside(at, target string) bool {
	var is []string
	if dir := path.Dir(at); dir != "." {
		is = strings.Split(dir, "/")
	}
	if path.IsAbs(target) || target == "" || strings.ContainsRune(target, 0) {
		return false
	}
	rest := strings.Split(target, "/")
	for links := 0; len(rest) > 0; rest = rest[1:] {
		switch part := rest[0]; part {
		case "", ".":
			continue
		case "..":
			if len(is) == 0 {
				return false
			}
			is = is[:len(is)-1]
			continue
		default:
			is = append(is, part)
		}
		if e := l[strings.Join(is, "/")]; e != nil && e.Kind == fileLink {
			if links++; links > 40 || path.IsAbs(string(e.Target)) { // as the kernel follows
				return false
			}
			is = is[:len(is)-1]
			rest = append([]string{""}, append(strings.Split(string(e.Target), "/"), rest[1:]...)...)
		}
	}
	return true
}
