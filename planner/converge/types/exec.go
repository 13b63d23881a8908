package types

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/converge/ledger"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// execType runs commands. A command is done when its guards say so or, when it has none, when the ledger says that this
// form of the resource has run. There is nothing to undo: what a command did, only another command could take back.
type execType struct{}

func (execType) Schema() resource.Schema { return schema.Exec() }

// A command that is to run has one difference: of what it is to create, or else, as in Puppet, of what it returns.
const (
	createsParameter = "creates"
	returnsParameter = "returns"
)

func (t execType) Check(ctx context.Context, s *Session, r resource.Resource) ([]Difference, error) {
	p := r.Parameters
	if s.Ran[r.ID()] || p.Bool("refreshonly") {
		return nil, nil
	}
	wanted := !t.ran(s, r)
	if p.Has(createsParameter) || p.Has("onlyif") || p.Has("unless") {
		var err error
		if wanted, err = t.permitted(ctx, s, r); err != nil {
			return nil, err
		}
	}
	if !wanted {
		return nil, nil
	}
	if c := (comparison{resource: r}); p.Has(createsParameter) {
		c.text(createsParameter, "absent", strings.Join(p.Strings(createsParameter), " or "))
		return c.found, nil
	}
	return []Difference{{Parameter: returnsParameter, Is: "notrun", Should: strings.Join(successes(r), " ")}}, nil
}

// ran reports whether a command has run in this form: for the site or, where that does not have it yet, for another
// one.
func (execType) ran(s *Session, r resource.Resource) bool {
	digest := s.digestOf(r)
	if s.Ledger == nil || s.Ledger.Entry(s.Site, r.ID()) != nil {
		return s.Applied(r.ID()) == digest
	}
	return slices.ContainsFunc(s.Ledger.OfOthers(ledger.Key{Site: s.Site, ID: r.ID()}), func(e *ledger.Entry) bool {
		return e.Digest == digest
	})
}

// digestOf returns the digest of the resource as the ledger holds it when it is applied in this form.
func (s *Session) digestOf(r resource.Resource) string {
	if s.ID == r.ID() && s.Digest != "" {
		return s.Digest
	}
	return resource.Digest(r)
}

// permitted asks the guards. Where they cannot run because their program, the directory or the user is still to be
// made, the command is taken to be wanted at plan time; it fails clearly when that is so at its own turn.
func (t execType) permitted(ctx context.Context, s *Session, r resource.Resource) (bool, error) {
	p := r.Parameters
	for _, path := range p.Strings(createsParameter) {
		_, err := s.Lstat(path)
		if err == nil {
			return false, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return false, fmt.Errorf("creates: %w", err)
		}
	}
	if missing, err := t.missing(s, r); err != nil || missing != "" {
		return true, err
	}
	if len(p.Secrets()) > 0 && (p.Has("onlyif") || p.Has("unless")) {
		return false, nil // they may need the secrets, which a refresh does not have
	}
	for _, guard := range []struct {
		name string
		runs bool // the command runs when the guard ends with status 0
	}{{"onlyif", true}, {"unless", false}} {
		for _, command := range p.Commands(guard.name) {
			line, shown, words := command.Line, command.Line, command.Words
			if words != nil {
				line, shown = strings.Join(words[1:], " "), strings.Join(words, " ")
				// the shell says of a program that is not there what it says of one in a line
				words = append([]string{"/bin/sh", "-c", `exec "$0" "$@"`}, words...)
			} else {
				words = []string{line}
			}
			out, err := ask(ctx, s, t.command(r, words))
			if err != nil {
				return false, fmt.Errorf("%s: %w", guard.name, err)
			}
			if wrong := notRun(line, out); wrong != "" {
				if !s.Applying {
					continue
				}
				if r.Sensitive() {
					return false, fmt.Errorf("%s: %s", guard.name, wrong)
				}
				return false, fmt.Errorf("%s %q: %s", guard.name, shorten(shown), wrong)
			}
			if (out.Status == 0) != guard.runs {
				return false, nil
			}
		}
	}
	return true, nil
}

// asksForProgram reports whether a guard asks whether a program is there: shells answer with the status of a program
// that is not.
func asksForProgram(command string) bool {
	words := strings.FieldsFunc(command, func(r rune) bool { return strings.ContainsRune(" \t\n;|&(){}!`", r) })
	for i, word := range words {
		switch word {
		case "type", "hash":
			return true
		case "command":
			if i+1 < len(words) && slices.Contains([]string{"-v", "-V", "-pv", "-pV"}, words[i+1]) {
				return true
			}
		}
	}
	return false
}

// notRun reports why a guard did not run, empty when it did: its status is then no answer.
func notRun(command string, out system.Output) string {
	const statusDenied, statusMissing = 126, 127 // of every POSIX shell
	switch {
	case asksForProgram(command):
		return ""
	case out.Status == statusMissing:
		return "the program does not exist (status 127); install it first and require that, or ask for it with `command -v`"
	case out.Status == statusDenied:
		return "the program cannot be executed (status 126); set its mode, or name its interpreter"
	}
	return ""
}

// missing returns what the command needs and is not there, empty when nothing is.
func (execType) missing(s *Session, r resource.Resource) (string, error) {
	if name := r.Parameters.String("user"); name != "" {
		users, err := s.Users()
		if err != nil {
			return "", err
		}
		if _, ok := users[name]; !ok {
			return fmt.Sprintf("user %q: no such user on the node; make it first, with require", name), nil
		}
	}
	if dir := r.Parameters.String("cwd"); dir != "" {
		_, err := s.ReadDir(dir)
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Sprintf("cwd %q: no such directory on the node; make it first, with require", dir), nil
		}
		if err != nil {
			return "", fmt.Errorf("cwd: %w", err)
		}
	}
	return "", nil
}

// command builds the command for words: one is a line for the shell, several are a program and its arguments.
func (execType) command(r resource.Resource, words []string) system.Command {
	p := r.Parameters
	if len(words) == 1 {
		words = []string{"/bin/sh", "-c", words[0]}
	}
	if mask := p.String("umask"); mask != "" {
		words = append([]string{"/bin/sh", "-c", `umask "$0"; exec "$@"`, mask}, words...)
	}
	c := system.Command{
		Argv: words, Dir: p.String("cwd"), User: p.String("user"), Env: p.Strings("environment"), EndsWithSession: true,
	}
	if p.Has("path") {
		c.Env = append([]string{"PATH=" + strings.Join(p.Strings("path"), ":")}, c.Env...)
	}
	if c.Timeout = time.Duration(p.IntOr("timeout", 300)) * time.Second; c.Timeout == 0 {
		c.Timeout = -1 // none
	}
	return c
}

func successes(r resource.Resource) []string {
	if r.Parameters.Has(returnsParameter) {
		return r.Parameters.Strings(returnsParameter)
	}
	return []string{"0"}
}

func (execType) Capture(context.Context, *Session, resource.Resource) (json.RawMessage, error) {
	return nil, nil
}

func (t execType) Apply(ctx context.Context, s *Session, r resource.Resource) error {
	missing, err := t.missing(s, r)
	if err != nil {
		return err
	}
	if missing != "" {
		return errors.New(missing)
	}
	words := []string{r.Title}
	if r.Parameters.Has("command") {
		words = r.Parameters.Strings("command")
	}
	tries, sleep := r.Parameters.IntOr("tries", 1), time.Duration(r.Parameters.IntOr("try_sleep", 0))*time.Second
	for try := int64(1); ; try++ {
		out, err := s.Run(ctx, t.command(r, words))
		s.Forget()
		if want := successes(r); err == nil && !slices.Contains(want, strconv.Itoa(out.Status)) {
			err = fmt.Errorf("it ended with status %d, not %s", out.Status, strings.Join(want, " or "))
		}
		if err == nil || try >= tries || pause(ctx, sleep) != nil {
			return commandError(r, strings.Join(words, " "), out, err)
		}
	}
}

// commandError describes a command of the user that failed: which one, why, and what it printed last. Of a sensitive
// resource, it shows why only.
func commandError(r resource.Resource, command string, out system.Output, err error) error {
	if err == nil {
		return nil
	}
	if r.Sensitive() {
		return fmt.Errorf("the command: %w", err)
	}
	last := "it printed nothing"
	if end := lastLines(out.Combined); end != "" {
		last = "its output ends with: " + end + "; `report` shows more of it"
	}
	return fmt.Errorf("the command %q: %w; %s", shorten(command), err, last)
}

// lastLines returns the last lines of an output that hold anything, in one line of bounded length.
func lastLines(output string) string {
	const most, outputShown = 3, 200 // bytes
	empty := func(l string) bool { return strings.TrimSpace(l) == "" }
	lines := slices.DeleteFunc(strings.Split(strings.TrimSpace(output), "\n"), empty)
	text := strings.Join(lines[max(0, len(lines)-most):], "; ")
	if extra := len(text) - outputShown; extra > 0 {
		text = "…" + strings.ToValidUTF8(text[extra:], "")
	}
	return text
}

// Refresh runs the command when its guards permit it, as in Puppet.
func (t execType) Refresh(ctx context.Context, s *Session, r resource.Resource) error {
	permitted, err := t.permitted(ctx, s, r)
	if err != nil || !permitted {
		return err
	}
	return t.Apply(ctx, s, r)
}

// Undo has nothing to do.
func (execType) Undo(context.Context, *Session, string, json.RawMessage) error { return nil }
