package types

import (
	"context"
	"fmt"
	"slices"
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

// toolError describes a tool that ended with a status other than 0 by what it said: the lines that apt, dpkg, apk and
// dnf mark as errors, with the reasons that follow them, or else the last line. It never shows arguments or standard
// input.
func toolError(c system.Command, out system.Output) error {
	const dpkgFailed, unmet = "dpkg: error processing ", "The following packages have unmet dependencies:"
	const dnfError, noKey = "Error:", "Problem repository: "
	var said []string
	last, script, above := "it printed nothing", "", "" // above is what the indented lines that follow explain
	for line := range strings.Lines(out.Combined) {
		indented := strings.HasPrefix(line, " ")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		text, marked := strings.CutPrefix(line, "E: ")
		switch {
		case indented && above == unmet:
			said = append(said, line)
		case indented && above == dpkgFailed:
			if strings.Contains(line, "script subprocess") && script != "" {
				line += ": " + script
			}
			said[len(said)-1] += " " + line
			above = ""
		case strings.HasPrefix(line, dpkgFailed):
			said = append(said, line)
			above, script = dpkgFailed, last
			if dpkgProgress(last) {
				script = "" // it printed nothing
			}
		case strings.HasPrefix(text, "Sub-process ") && strings.HasPrefix(strings.Join(said, "; "), dpkgFailed):
			// Why is said.
		case marked, strings.HasPrefix(line, "dpkg: error"), strings.HasPrefix(line, "ERROR: "):
			said = append(said, text)
		case strings.HasPrefix(line, noKey):
			said = append(said, "packages must be signed, and there is no key for the repository "+line[len(noKey):])
		case indented && above == dnfError, strings.HasPrefix(line, "Public key for "),
			strings.HasPrefix(line, "No match for argument: "):
			said = append(said, line)
		case strings.HasPrefix(line, dnfError), strings.HasPrefix(line, "Error in "):
			if text = strings.TrimPrefix(strings.TrimPrefix(line, dnfError), " "); text != "" {
				said = append(said, text)
			}
			above = dnfError
		case line == unmet:
			above = unmet
		default:
			above = ""
		}
		last = line
	}
	if len(said) > 0 {
		last = strings.Join(slices.Compact(said), "; ")
	}
	return fmt.Errorf("%s ended with status %d: %s", c.Argv[0], out.Status, last)
}

// dpkgProgress reports whether dpkg itself prints such a line before it runs a script of a package.
func dpkgProgress(line string) bool {
	return slices.ContainsFunc([]string{"Setting up ", "Preparing to unpack ", "Unpacking ", "Removing ", "Purging "},
		func(text string) bool { return strings.HasPrefix(line, text) })
}
