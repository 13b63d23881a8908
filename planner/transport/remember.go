package transport

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// remember appends the key of an unknown host to the known hosts file. It locks the file and reads it again, because
// many connections, in several processes, may meet a new host at once. When another one has remembered a different key
// meanwhile, the host counts as changed.
func (v *verifier) remember(ctx context.Context, key ssh.PublicKey) error {
	path := v.hop.hosts.file
	fail := func(err error) error {
		return v.hop.errorf(HostKey, err,
			"%s: the new host key of %s cannot be remembered in %s: %v", v.hop.named("known_hosts_file"), v.hop.address, path,
			cause(err))
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fail(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fail(err)
	}
	defer f.Close() // also releases the lock
	if err := lock(ctx, f); err != nil {
		return fail(err)
	}
	if v.db, err = v.hop.hosts.read(v.hop.address); err != nil {
		return err
	}
	if v.known, err = v.db.lookup(v.hop.address); err != nil {
		return err
	}
	if len(v.known.keys) > 0 || v.known.authority || v.known.foreign {
		return v.db.check(v.hop.address, &net.TCPAddr{}, key)
	}
	line := knownhosts.Line([]string{v.hop.address}, key) + "\n"
	if line, err = afterNewline(f, line); err != nil {
		return fail(err)
	}
	// One write, so that readers and crashes never see half a line.
	if _, err := io.WriteString(f, line); err != nil {
		return fail(err)
	}
	if err := f.Sync(); err != nil {
		return fail(err)
	}
	return nil
}

// afterNewline puts a newline before line when the last line of the file does not end with one.
func afterNewline(f *os.File, line string) (string, error) {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return line, err
	}
	last := make([]byte, 1)
	if _, err := f.ReadAt(last, info.Size()-1); err != nil {
		return line, err
	}
	if bytes.Equal(last, []byte("\n")) {
		return line, nil
	}
	return "\n" + line, nil
}

var errLocked = errors.New("locked by another process")

// lock waits for the exclusive lock on f until ctx ends. Holders write one line, so the wait is short.
func lock(ctx context.Context, f *os.File) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		err := tryLock(f)
		if !errors.Is(err, errLocked) {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return err
		}
	}
}
