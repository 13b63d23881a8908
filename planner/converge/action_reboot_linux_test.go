package converge

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
)

// booted is a sandbox of a machine that can be restarted.
type booted struct {
	*sandbox
	boots    int
	triggers int
	fail     error // of the trigger
	ran      []string
}

func newBooted(t *testing.T) *booted {
	b := &booted{sandbox: newSandbox(t)}
	b.prepare()
	b.boot()
	return b
}

func (b *booted) prepare() {
	b.mkdir("/run/systemd/system")
	b.put("/usr/bin/systemd-run", "")
	if err := os.Chmod(b.real("/usr/bin/systemd-run"), 0o755); err != nil {
		b.t.Fatal(err)
	}
	b.Commands = func(_ context.Context, c system.Command) (system.Output, error) {
		b.ran = append(b.ran, strings.Join(c.Argv, " "))
		if strings.Contains(c.Argv[len(c.Argv)-1], "reboot") {
			b.triggers++
			return system.Output{}, b.fail
		}
		return system.Output{}, nil
	}
}

// boot is a restart of the machine.
func (b *booted) boot() {
	b.boots++
	b.put("/proc/sys/kernel/random/boot_id", fmt.Sprintf("boot-%d\n", b.boots))
}

// session runs a manifest and returns the outcomes, and the summary.
func (b *booted) session(c Manifest) (string, Summary) {
	b.t.Helper()
	c.Protocol, c.Site = Protocol, "one"
	if c.Run == "" {
		c.Run = "r1"
	}
	var results []Result
	s := Run(b.t.Context(), b.System, c, func(r Result) { results = append(results, r) })
	return strings.Join(statuses(results), ", "), s
}

func (b *booted) want(c Manifest, want string) Summary {
	b.t.Helper()
	got, s := b.session(c)
	if got != want || s.Error != nil {
		b.t.Errorf("%q, %v; want %q", got, s.Error, want)
	}
	return s
}

func applying(items ...Item) Manifest { return Manifest{Mode: Apply, Items: items} }

func TestARestartTakesTwoSessions(t *testing.T) {
	b := newBooted(t)
	reboot := item("reboot[p/r]", "timeout", 60)
	b.want(Manifest{Mode: Check, Items: []Item{reboot}}, "reboot[p/r] differs")
	s := b.want(applying(reboot), "reboot[p/r] restarting")
	if digest, there := s.Ledger["reboot[p/r]"]; digest != "" || !there || s.BootID != "boot-1" || b.triggers != 1 {
		t.Errorf("ledger %v, boot id %q, %d triggers", s.Ledger, s.BootID, b.triggers)
	}
	if want := "systemd-run --quiet /bin/sh -c sleep 2; exec systemctl reboot"; b.ran[0] != want {
		t.Errorf("ran %q", b.ran)
	}
	b.want(Manifest{Mode: Prepare}, "")
	b.boot()
	b.want(Manifest{Mode: Check, Items: []Item{reboot}}, "reboot[p/r] differs") // nobody has finished it yet
	s = b.want(applying(reboot), "reboot[p/r] changed")
	if s.Ledger["reboot[p/r]"] != reboot.Digest || b.triggers != 1 {
		t.Errorf("ledger %v, %d triggers", s.Ledger, b.triggers)
	}
	b.want(Manifest{Mode: Check, Items: []Item{reboot}}, "reboot[p/r] unchanged")
	b.want(applying(reboot), "reboot[p/r] restarting") // told again, it is done again
	if b.triggers != 2 {
		t.Errorf("%d triggers, want 2", b.triggers)
	}
	b.want(applying(removal("reboot[p/r]")), "reboot[p/r] changed")
	b.want(applying(reboot), "reboot[p/r] restarting") // forgotten with all that was asked
	if b.triggers != 3 {
		t.Errorf("%d triggers, want 3", b.triggers)
	}
}

func TestARestartOfANodeWithoutSystemd(t *testing.T) {
	b := newBooted(t)
	if err := os.RemoveAll(b.real("/run/systemd")); err != nil {
		t.Fatal(err)
	}
	reboot := item("reboot[p/r]")
	if r := b.apply(reboot)[0]; r.Status != Failed || !strings.HasPrefix(r.Message, "reboot: no such program on the node") {
		t.Errorf("%+v", r)
	}
	b.put("/sbin/reboot", "")
	if err := os.Chmod(b.real("/sbin/reboot"), 0o755); err != nil {
		t.Fatal(err)
	}
	b.want(applying(reboot), "reboot[p/r] restarting")
	if len(b.ran) != 1 || !strings.Contains(b.ran[0], "exec reboot") {
		t.Errorf("ran %q", b.ran)
	}
}

func TestARestartThatCannotBegin(t *testing.T) {
	b := newBooted(t)
	reboot := item("reboot[p/r]")
	b.fail = errors.New("no")
	b.want(applying(reboot, item("shell[s]", "command", "x")), "reboot[p/r] failed, shell[s] changed")
	b.fail = nil
	b.want(applying(reboot), "reboot[p/r] restarting")
	if err := os.Remove(b.real("/proc/sys/kernel/random/boot_id")); err != nil {
		t.Fatal(err)
	}
	b.want(applying(item("reboot[other]")), "reboot[other] failed")
}

// What comes after a restart waits for it; what cannot run because of something before it is told at once.
func TestItemsAfterARestartWait(t *testing.T) {
	b := newBooted(t)
	items := []Item{
		item("file[/first]", "content", "1"),
		item("file[/no/such]", "content", "1"),
		item("reboot[p/r]").requires("file[/first]"),
		item("file[/second]", "content", "1").requires("reboot[p/r]"),
		item("file[/never]", "content", "1").requires("file[/no/such]"),
		removal("file[/gone]"),
		item("reboot[p/again]"),
	}
	c := Manifest{Mode: Apply, Items: items, Lock: "drain", Unlock: "undrain"}
	s := b.want(c, "file[/first] changed, file[/no/such] failed, reboot[p/r] restarting, file[/second] restarting, file[/never] skipped, file[/gone] restarting, reboot[p/again] restarting")
	if b.there("/second") || b.triggers != 1 || !s.Locked {
		t.Errorf("second: %v, %d triggers, locked: %v", b.there("/second"), b.triggers, s.Locked)
	}
	b.boot()
	c.Items = []Item{items[2], items[3], items[5], items[6]}
	b.want(c, "reboot[p/r] changed, file[/second] changed, file[/gone] unchanged, reboot[p/again] restarting")
	b.boot()
	c.Items = items[6:]
	if s := b.want(c, "reboot[p/again] changed"); s.Locked {
		t.Error("the window is left open")
	}
	var window []string
	for _, line := range b.ran {
		if line = strings.TrimPrefix(line, "/bin/sh -c "); strings.HasSuffix(line, "drain") {
			window = append(window, line)
		}
	}
	if got := strings.Join(window, " "); got != "drain undrain" {
		t.Errorf("ran %q: one window around all sessions is wanted", got)
	}
}

// A session that is killed at any point neither loses a restart nor lets it happen twice.
func TestARestartAndAKilledSession(t *testing.T) {
	reboot := item("reboot[p/r]")
	at := func(dir string) *booted {
		s, err := system.New(dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		b := &booted{sandbox: &sandbox{&types.Session{System: s}, dir, t}}
		b.prepare()
		return b
	}
	if role() != "" {
		b := at(os.Getenv("DIR"))
		run := b.Commands
		b.Commands = func(ctx context.Context, c system.Command) (system.Output, error) {
			return system.Output{}, errors.Join(unix.Kill(os.Getpid(), unix.SIGKILL), errors.New(fmt.Sprint(run(ctx, c))))
		}
		b.session(applying(reboot))
		t.Fatal("not killed")
	}
	for _, restarted := range []bool{false, true} {
		t.Run(fmt.Sprint(restarted), func(t *testing.T) {
			b := newBooted(t)
			b.want(applying(reboot), "reboot[p/r] restarting") // an earlier run, which came to its end
			b.boot()
			b.want(applying(reboot), "reboot[p/r] changed")
			if state, out := childOf(t, "TestARestartAndAKilledSession", os.Geteuid(), "killed", "DIR="+b.dir); state.ExitCode() != -1 {
				t.Fatalf("the session was not killed: %v\n%s", state, out)
			}
			if s := b.want(Manifest{Mode: Prepare}, ""); s.Ledger["reboot[p/r]"] != "" {
				t.Errorf("ledger %v, want it begun", s.Ledger)
			}
			want, triggers := "reboot[p/r] restarting", 2
			if restarted {
				b.boot()
				want, triggers = "reboot[p/r] changed", 1
			}
			c := applying(reboot)
			c.Run = "r2"
			if b.want(c, want); b.triggers != triggers {
				t.Errorf("%d triggers, want %d", b.triggers, triggers)
			}
		})
	}
}

// Sessions, restarts by other means and failures in any order: a restart is reported as done when the node restarted since it was
// asked for, and only then, and a node that did restart is not restarted for the same request.
func TestAnyOrderOfRestarts(t *testing.T) {
	for seed := range 40 {
		r := rand.New(rand.NewPCG(uint64(seed), 2))
		b := newBooted(t)
		asked := 0 // the boot in which it was asked for; 0 when it is not
		for range 12 {
			switch r.IntN(4) {
			case 0:
				b.boot()
			case 1:
				b.want(Manifest{Mode: Prepare}, "")
			default:
				b.fail = nil
				if r.IntN(3) == 0 {
					b.fail = errors.New("no")
				}
				before := b.triggers
				got, _ := b.session(applying(item("reboot[p/r]", "timeout", r.IntN(2))))
				switch {
				case asked != 0 && asked != b.boots:
					if asked = 0; got != "reboot[p/r] changed" || b.triggers != before {
						t.Fatalf("seed %d: %s, %d triggers after a restart", seed, got, b.triggers-before)
					}
				default:
					asked = b.boots
					if want := map[bool]string{false: "reboot[p/r] failed", true: "reboot[p/r] restarting"}[b.fail == nil]; got != want || b.triggers != before+1 {
						t.Fatalf("seed %d: %s, want %s; %d triggers", seed, got, want, b.triggers-before)
					}
				}
			}
		}
	}
}

// The executor needs the boot id, also of a restart that shows nothing else.
func TestASensitiveRestartTellsItsBoot(t *testing.T) {
	b := newBooted(t)
	reboot := item("reboot[p/r]", "sensitive", true)
	want := []types.Difference{{Parameter: types.BootParameter, Is: "boot-1", Should: "another"}}
	for _, status := range []Status{Restarting, Changed} {
		if r := b.wantStatus(Apply, reboot, status); !slices.Equal(r.Differences, want) {
			t.Errorf("%+v, want %+v", r.Differences, want)
		}
		b.boot()
	}
}
