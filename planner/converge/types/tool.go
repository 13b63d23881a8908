package types

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
)

// mustRun runs one of the node's own tools, which must end with status 0, and forgets what was known of the node,
// because the tool may have changed it even if it failed.
func mustRun(ctx context.Context, s *Session, c system.Command) error {
	started := time.Now()
	out, err := s.Run(ctx, c)
	s.Forget()
	if err == nil && out.Status != 0 {
		err = toolError(c, out)
	}
	return lockError(s, err, out, started)
}

// ask runs a command that changes nothing.
func ask(ctx context.Context, s *Session, c system.Command) (system.Output, error) {
	c.Quiet = true
	return s.Run(ctx, c)
}

// toolError describes a tool that ended with a status other than 0 by what it said: the lines that apt, dpkg and apk
// mark as errors, or else the last line. It never shows arguments or standard input.
func toolError(c system.Command, out system.Output) error {
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
