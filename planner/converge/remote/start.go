package remote

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/transport"
)

// noise bounds what login scripts may print before the bootstrap speaks, in bytes.
const noise = 64 << 10

// bootstrap brings the helper to run, and sends it before when the node does not have it.
func (f *far) bootstrap(ctx context.Context) error {
	done := f.within(f.start)
	defer func() { done() }()
	var printed strings.Builder // by others than the bootstrap
	var said string             // the last thing that the bootstrap said
	for {
		line, err := f.line(noise)
		word, ours := strings.CutPrefix(string(line), f.mark+" ")
		if !ours {
			printed.Write(line)
			printed.WriteByte('\n')
		}
		if err != nil || printed.Len() > noise {
			return f.noStart(ctx, err, said, printed.String())
		}
		if !ours {
			continue
		}
		said, word, _ = strings.Cut(word, " ")
		switch said {
		case saysNeed:
			done()
			done = f.within(f.upload)
			if _, err := f.session.Stdin().Write(f.helpers.carried[word].Compressed); err != nil {
				continue // the node says why, or is gone: both show in what we read
			}
		case saysHave:
			return nil
		case saysFail:
			return f.explain(word)
		}
	}
}

// explain turns a reason that the bootstrap gave into an error.
func (f *far) explain(reason string) error {
	rest, _ := io.ReadAll(io.LimitReader(f.out, keep)) // a session that breaks off here has said enough
	detail := strings.TrimSpace(string(rest))
	where := f.helpers.directory
	switch reason {
	case notRoot:
		return failed(converge.CodeRoot, "the user %q is not root: set %s = true, or %s to root", detail,
			f.named("sudo"), f.named("user"))
	case noPlatform:
		return failed(converge.CodeArch, "this build carries no helper for %s; it carries %s", platform(detail), f.carried())
	case notWritable:
		return failed(converge.CodeNoExec, "the helper cannot be put into %s, which must be writable for root: %s",
			where, shown(detail))
	case notOurs:
		return failed(converge.CodeNoExec, "nothing is executed in %s, "+
			"because another user can change it: %s. Remove what you do not know from it, then make the "+
			"directory and those above it root's alone (chown root, chmod go-w)", where, shown(detail))
	case noGunzip:
		return failed(converge.CodeNoExec, "the helper cannot be unpacked: the node has neither gzip nor gunzip, "+
			"install one of them")
	case notRunnable:
		return failed(converge.CodeNoExec, "nothing may be executed in %s: the file system must not be mounted noexec", where)
	case badUpload:
		return failed(converge.CodeLost, "the helper arrived damaged in %s: %s", where, shown(detail))
	}
	return failed(converge.CodeProtocol, "the bootstrap failed for an unknown reason: %s", shown(reason+" "+detail))
}

// platform returns the GOOS/GOARCH of an answer of uname, or the answer itself.
func platform(uname string) string {
	for p, names := range machines {
		for name := range strings.SplitSeq(names, "|") {
			if name == uname {
				return p
			}
		}
	}
	return uname
}

func (f *far) carried() string {
	if list := f.helpers.Platforms(); len(list) > 0 {
		return strings.Join(list, ", ")
	}
	return "none at all: run `make build`"
}

// noStart explains a session whose bootstrap never came to its end.
func (f *far) noStart(ctx context.Context, err error, said, printed string) error {
	err = f.whyNoStart(ctx, err, said, printed)
	var failed *converge.SessionError
	if errors.As(err, &failed) {
		failed.NoAnswer = errors.Is(context.Cause(f.life), errSlow)
	}
	return err
}

// whyNoStart returns the error of such a session.
func (f *far) whyNoStart(ctx context.Context, err error, said, printed string) error {
	why := context.Cause(f.life)
	if !errors.Is(err, io.EOF) {
		f.end(errSlow) // it talks on, and nobody wants to hear it
	}
	err = f.finish()
	if ctx.Err() != nil {
		why = context.Cause(ctx) // whatever the node might have done later
	}
	var broken *transport.Error
	switch {
	case why != nil && !errors.Is(why, errSlow) && !errors.Is(why, errPassword):
		return failed(converge.CodeLost, "the session was given up before the helper was started: %v", why)
	case why == nil && errors.As(err, &broken) && !errors.Is(err, errSlow):
		return err
	}
	raw := printed + "\n" + f.errs.text()
	if printed = shown(raw); printed == "" {
		printed = "nothing"
	}
	var slow string
	if errors.Is(why, errSlow) {
		slow = " in time"
	}
	switch {
	case said == "":
		advice := f.advice(raw)
		if advice == "" {
			advice = "A shell such as /bin/sh is needed; it has none, or a forced command"
		}
		return failed(converge.CodeShell, "the login shell of the user %q (%s) does not run commands%s. %s. "+
			"It printed %s", f.user, f.named("user"), slow, advice, printed)
	case said == saysShell && errors.Is(why, errPassword):
		return failed(converge.CodeSudo, "sudo does not accept %s for the user %q", f.named("sudo_password"), f.user)
	case said == saysShell && f.sudo:
		advice := f.advice(raw)
		switch {
		case advice != "":
		case f.password != "":
			advice = "The user needs a rule in sudoers"
		default:
			advice = "The user needs a NOPASSWD rule in sudoers, or set connection.sudo_password " +
				"(connect.credentials.sudo_password of a node)"
		}
		return failed(converge.CodeSudo, "sudo does not let the user %q (%s) become root%s. %s. It printed %s",
			f.user, f.named("user"), slow, advice, printed)
	}
	return failed(converge.CodeLost, "the helper could not be started%s; the node printed %s", slow, printed)
}

// expired is the advice for an account or password of the user that has expired.
const expired = "The account or the password of the user has expired: on the node, chage -l USER shows which; " +
	"chage -E -1 USER renews the account, passwd USER the password"

// causes are what sudo, PAM and login shells print, in lower case, and what to do about it: USER is the user, WRITTEN
// the attribute that names it, RULE how a rule in sudoers ends.
var causes = []struct{ printed, advice string }{
	{"account expired", expired},
	{"account has expired", expired},
	{"account or password is expired", expired},
	{"password has expired", expired},
	{"password change required", expired},
	{"account is currently not available",
		"A shell such as /bin/sh is needed, and the user's is nologin: usermod -s /bin/sh USER"},
	{"is not allowed to execute", "The user's rules in sudoers do not allow /bin/sh; " +
		"one that does is: USER ALL=(root) RULE"},
	{"may not run sudo", "The user's rules in sudoers do not allow /bin/sh; one that does is: USER ALL=(root) RULE"},
	{"is not in the sudoers file", "The user has no rule in sudoers; one that is enough is: USER ALL=(root) RULE"},
	{"must have a tty", "sudo asks for a terminal, and there is no terminal here; " +
		"add to sudoers: Defaults:USER !requiretty"},
	{"sudo: not found", "sudo is not installed: install it, or set WRITTEN to root"},
	{"sudo: command not found", "sudo is not installed: install it, or set WRITTEN to root"},
}

// advice returns what to do about what a node printed; empty where that is not known.
func (f *far) advice(printed string) string {
	rule := "NOPASSWD: ALL"
	if f.password != "" {
		rule = "ALL"
	}
	printed = strings.ToLower(printed)
	for _, c := range causes {
		if strings.Contains(printed, c.printed) {
			return strings.NewReplacer("USER", f.user, "RULE", rule, "WRITTEN", f.named("user")).Replace(c.advice)
		}
	}
	return ""
}
