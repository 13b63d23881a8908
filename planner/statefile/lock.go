package statefile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// lock is a lock file. It is gone with the process that made it, and removed before.
type lock struct{ file *os.File }

// lockFile takes a lock. purpose and process are in the file, for the error of others.
func lockFile(path, purpose string) (*lock, error) {
	for {
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		if err := exclusive(file); err != nil {
			who, _ := io.ReadAll(io.LimitReader(file, 1000)) // what can be read of it is of use
			return nil, errors.Join(fmt.Errorf("is locked (%w): %s; wait for it to end", err, who), file.Close())
		}
		// It may have been removed by its last owner before it was locked.
		ours, err := file.Stat()
		if there, gone := os.Stat(path); err == nil && (gone != nil || !os.SameFile(ours, there)) {
			_ = file.Close()
			continue
		}
		host, _ := os.Hostname()
		who := fmt.Sprintf("%s, process %d on %s since %s", purpose, os.Getpid(), host, time.Now().Format(time.RFC3339))
		if err := errors.Join(err, file.Truncate(0), writeAt(file, who)); err != nil {
			return nil, errors.Join(err, file.Close())
		}
		return &lock{file}, nil
	}
}

func writeAt(file *os.File, text string) error {
	_, err := file.WriteAt([]byte(text), 0)
	return err
}

// release removes the lock file and frees the lock.
func (l *lock) release() error { return errors.Join(os.Remove(l.file.Name()), l.file.Close()) }
