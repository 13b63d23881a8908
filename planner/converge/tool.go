package converge

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"
)

// mustRun runs one of the node's own tools, which must end with status 0, and forgets what was known of the node,
// because the tool may have changed it even if it failed.
func mustRun(ctx context.Context, s *System, c Command) error {
	started := time.Now()
	out, err := s.Run(ctx, c)
	s.Forget()
	if err == nil && out.Status != 0 {
		err = toolError(c, out)
	}
	return lockError(s, err, out, started)
}

// ask runs a command that changes nothing.
func ask(ctx context.Context, s *System, c Command) (Output, error) {
	c.Quiet = true
	return s.Run(ctx, c)
}

// toolError describes a tool that ended with a status other than 0 by what it said: the lines that apt, dpkg and apk
// mark as errors, or else the last line. It never shows arguments or standard input.
func toolError(c Command, out Output) error {
	var said []string
	last := "it printed nothing"
	for line := range strings.Lines(out.Combined) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		last = line
		text, ok := strings.CutPrefix(line, "E: ")
		if ok || strings.HasPrefix(line, "dpkg: error") || strings.HasPrefix(line, "ERROR: ") {
			said = append(said, text)
		}
	}
	if len(said) > 0 {
		last = strings.Join(said, "; ")
	}
	return fmt.Errorf("%s ended with status %d: %s", c.Argv[0], out.Status, last)
}

// exists reports whether there is anything at path.
func exists(s *System, path string) (bool, error) {
	_, err := s.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// firstThere returns the first of paths at which there is anything, empty for none.
func firstThere(s *System, paths ...string) (string, error) {
	for _, p := range paths {
		if there, err := exists(s, p); there || err != nil {
			return p, err
		}
	}
	return "", nil
}

// remembered is [System.Remember] for values of one type.
func remembered[T any](s *System, key string, find func() (T, error)) (T, error) {
	v, err := s.Remember(key, func() (any, error) { return find() })
	if err != nil {
		var none T
		return none, err
	}
	t, ok := v.(T)
	if !ok {
		return t, fmt.Errorf("%s is remembered as %T, not as %T", key, v, t)
	}
	return t, nil
}
