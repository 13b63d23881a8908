package controller

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/callback"
	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

const (
	// outputLimit bounds the standard output of a command that returns values, in bytes.
	outputLimit = 1 << 20
	// errorLimit bounds the standard error that is kept, in bytes. An error shows the last part of it.
	errorLimit = 64 << 10
)

type command struct {
	*Controller
	resource.Parameters
	concealer
}

func newCommand(c *Controller, r resource.Resource) (worker, error) {
	return command{c, r.Parameters, conceal(r)}, nil
}

func (c command) try(ctx context.Context, printed io.Writer) (map[string]any, error) {
	argv := c.Strings("argv")
	output := c.StringOr("output", callback.OutputText)
	name := c.shown(fmt.Sprintf("%q", argv[0]))
	// not CommandContext, which ends only the program and not its children
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = c.String("cwd"), c.environment()
	cmd.WaitDelay = c.Grace
	stdout, stderr := &head{limit: outputLimit}, &tail{limit: errorLimit}
	shown := func() io.Writer { return &converge.Mask{To: printed, Secrets: c.secrets} } // each stream has its own
	cmd.Stdout, cmd.Stderr = stdout, io.MultiWriter(stderr, shown())
	if output == callback.OutputNone {
		cmd.Stdout = shown()
	}
	if c.Has("stdin") {
		cmd.Stdin = strings.NewReader(c.String("stdin"))
	}
	if info, err := os.Stat(cmd.Dir); cmd.Dir != "" && (err != nil || !info.IsDir()) {
		return nil, permanent{fmt.Errorf("cwd: there is no directory %s", c.shown(cmd.Dir))}
	}
	prepareGroup(cmd)
	if err := cmd.Start(); err != nil {
		return nil, permanent{fmt.Errorf("%s cannot be started: %w%s", name, reason(err), hint(argv))}
	}
	err := waitOrEnd(ctx, cmd, c.Grace)
	said := func() string {
		switch text := stderr.String(); {
		case stderr.wasCut():
			return c.atBegin(text)
		case text == "":
			return "its standard error is empty"
		default:
			return c.text(text)
		}
	}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil && err != nil:
		return nil, fmt.Errorf("%s was ended: %w: %s", name, context.Cause(ctx), said())
	case errors.As(err, &exit):
		return nil, fmt.Errorf("%s ended with %s: %s", name, exit.ProcessState, said())
	// output of a daemon that the command left running is not waited for
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if stdout.cut {
		return nil, permanent{
			fmt.Errorf("%s wrote more than %d bytes to its standard output; write less, or set output to none", name,
				outputLimit)}
	}
	return c.values(name, output, stdout.kept)
}

// values returns the values from the standard output.
func (c command) values(name, output string, stdout []byte) (map[string]any, error) {
	switch output {
	case callback.OutputNone:
		return nil, nil
	case callback.OutputJSON:
		value, err := decode(stdout)
		if err != nil {
			return nil, permanent{fmt.Errorf("the standard output of %s is not JSON: %w", name, err)}
		}
		values, ok := value.(map[string]any)
		if !ok {
			return nil, permanent{
				fmt.Errorf("the standard output of %s is JSON, but not an object; its members are the values", name)}
		}
		return values, nil
	}
	return map[string]any{"stdout": strings.TrimRight(strings.ToValidUTF8(string(stdout), "\uFFFD"), "\r\n")}, nil
}

// environment returns the environment of the program; later entries win.
func (c command) environment() []string {
	names := slices.Concat(callback.Inherited, c.Strings("inherit"))
	env := []string{}
	for _, e := range c.Environment {
		if name, _, _ := strings.Cut(e, "="); slices.Contains(names, name) {
			env = append(env, e)
		}
	}
	given := c.StringMap("environment")
	for _, name := range slices.Sorted(maps.Keys(given)) {
		env = append(env, name+"="+given[name])
	}
	return env
}

// reason removes the program's name from an error, because the message has it already.
func reason(err error) error {
	if e := (*exec.Error)(nil); errors.As(err, &e) {
		return e.Err
	}
	if e := (*fs.PathError)(nil); errors.As(err, &e) {
		return e.Err
	}
	return err
}

// hint explains that a command line was given as a single word.
func hint(argv []string) string {
	if len(argv) == 1 && strings.Contains(argv[0], " ") {
		return `; argv is a list with an item for each word, or ["sh", "-c", "..."]`
	}
	return ""
}

// head is a writer that keeps the first bytes.
type head struct {
	limit int
	kept  []byte
	cut   bool // more bytes were written
}

func (h *head) Write(p []byte) (int, error) {
	n := min(len(p), h.limit-len(h.kept))
	h.kept = append(h.kept, p[:n]...)
	h.cut = h.cut || n < len(p)
	return len(p), nil
}

// tail is a writer that keeps the last bytes.
type tail struct {
	limit int
	kept  []byte
	cut   bool // earlier bytes were dropped
}

func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	if len(t.kept) > 2*t.limit { // not at every write, because dropping copies what is kept
		t.kept = append(t.kept[:0], t.kept[len(t.kept)-t.limit:]...)
		t.cut = true
	}
	return len(p), nil
}

func (t *tail) String() string { return string(t.kept[max(0, len(t.kept)-t.limit):]) }

// wasCut reports whether more was written than String returns.
func (t *tail) wasCut() bool { return t.cut || len(t.kept) > t.limit }
