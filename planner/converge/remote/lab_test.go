package remote_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/converge/remote"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/transport"
	"github.com/slipway/terraform-provider-slipway/test/lab"
)

// labNode borrows a node of the lab and connects to it as user. The tests of the lab run in its network, where no helper can be built: it
// must be embedded.
func labNode(t *testing.T, user string) (lab.Node, site.Connection, *remote.Link, remote.Helpers) {
	t.Helper()
	n := lab.Borrow(t)
	helpers, err := remote.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	if len(helpers.Platforms()) == 0 {
		t.Fatal("this test was built without helpers: run `make build` first")
	}
	sudo := user != "root"
	c := site.Connection{User: user, Sudo: &sudo, PrivateKeyFile: n.Lab.State("id_ed25519"), KnownHostsFile: n.Lab.State("known_hosts")}
	conn, err := transport.Dial(t.Context(), c, n.Name, n.Address)
	if err != nil {
		t.Fatal(err)
	}
	link := &remote.Link{Conn: conn}
	t.Cleanup(func() { _ = link.Close() })
	return n, c, link, helpers
}

// on runs commands on the node, beside the helper.
func on(t *testing.T, conn transport.Conn, command string) {
	t.Helper()
	s, err := conn.Start(t.Context(), command)
	if err != nil {
		t.Fatal(err)
	}
	s.Stdin().Close()
	if err := s.Wait(); err != nil {
		t.Fatalf("%s: %v", command, err)
	}
}

func manifestOf(mode converge.Mode, items ...converge.Item) converge.Manifest {
	return converge.Manifest{Protocol: converge.Protocol, Site: "lab", Run: "r1", Mode: mode, Items: items}
}

func execItem(title, command string) converge.Item {
	r := resource.Resource{Type: "exec", Title: title, Parameters: resource.Parameters{"command": command}}
	return converge.Item{Resource: r, Digest: resource.Digest(r)}
}

func TestLabPrepare(t *testing.T) {
	for _, user := range []string{"root", "slipway"} {
		_, c, conn, helpers := labNode(t, user)
		for i, when := range []string{"pushed", "kept"} {
			if i == 0 {
				on(t, conn, "sudo rm -rf "+remote.Directory)
			}
			start := time.Now()
			s, err := remote.Converge(t.Context(), conn, c, helpers, manifestOf(converge.Prepare), func(r converge.Result) { t.Errorf("result %v", r) })
			if err != nil {
				t.Fatal(err)
			}
			if f := s.Identity.Facts; f == nil || f.OS.Name != "Debian" || len(f.Interfaces["eth0"].Addresses) == 0 {
				t.Errorf("facts %+v", f)
			}
			t.Logf("%s, helper %s: %s", user, when, time.Since(start).Round(time.Millisecond))
		}
	}
}

func TestLabRefusals(t *testing.T) {
	_, c, conn, helpers := labNode(t, "slipway")
	fails := func(c site.Connection, conn *remote.Link, h remote.Helpers, code converge.Code) {
		t.Helper()
		fresh := &remote.Link{Conn: conn.Conn} // no session of it is root's already
		_, err := remote.Converge(t.Context(), fresh, c, h, manifestOf(converge.Prepare), func(converge.Result) {})
		var e *converge.SessionError
		if !errors.As(err, &e) || e.Code != code {
			t.Errorf("error is %#v (%v), want code %q", err, err, code)
		}
		t.Logf("%v", err)
	}
	no := false
	without := c
	without.Sudo = &no
	fails(without, conn, helpers, converge.CodeRoot)
	_, _, root, _ := labNode(t, "root")
	fails(c, conn, remote.Helpers{}, converge.CodeArch)

	on(t, root, "mv /etc/sudoers.d/slipway /var/tmp/sudoers && echo slipway:sesame | chpasswd && echo 'slipway ALL=(ALL) ALL' >/etc/sudoers.d/asks && chmod 440 /etc/sudoers.d/asks")
	defer on(t, root, "mv /var/tmp/sudoers /etc/sudoers.d/slipway; rm /etc/sudoers.d/asks")
	fails(c, conn, helpers, converge.CodeSudo)
	with := c
	with.SudoPassword = "wrong"
	fails(with, conn, helpers, converge.CodeSudo)
	with.SudoPassword = "sesame"
	if _, err := remote.Converge(t.Context(), conn, with, helpers, manifestOf(converge.Prepare), func(converge.Result) {}); err != nil {
		t.Errorf("sudo with its password: %v", err)
	}
	on(t, root, "rm /etc/sudoers.d/asks")
	fails(with, conn, helpers, converge.CodeSudo)
	on(t, root, "touch /etc/sudoers.d/asks")

	on(t, root, "usermod -s /usr/sbin/nologin slipway")
	_, _, shellless, _ := labNode(t, "slipway") // sshd looks the shell up once for each connection
	fails(c, shellless, helpers, converge.CodeShell)
	on(t, root, "usermod -s /bin/bash slipway")

	on(t, root, "rm -rf /var/lib/slipway; mkdir -p /var/lib/slipway && mount -t tmpfs -o noexec tmpfs /var/lib/slipway")
	fails(c, root, helpers, converge.CodeNoExec)
	on(t, root, "umount /var/lib/slipway && mount -t tmpfs -o ro tmpfs /var/lib/slipway")
	fails(c, root, helpers, converge.CodeNoExec)
	on(t, root, "umount /var/lib/slipway && mount -t tmpfs -o size=1m tmpfs /var/lib/slipway")
	fails(c, root, helpers, converge.CodeNoExec)
	on(t, root, "umount /var/lib/slipway")
}

// execution.md 2.3 and 2.4: a node that vanishes in the middle of a run is noticed, what was reported stays reported, and the
// rest is unknown.
func TestLabNodesThatVanish(t *testing.T) {
	for _, mode := range []string{"hang", "link", "freeze", "off"} {
		t.Run(mode, func(t *testing.T) {
			n, c, conn, helpers := labNode(t, "slipway")
			// The helper of the mode before may only now learn that its controller is gone: it must neither hold this one up nor, with
			// what it brings into the ledger, be errorn for it.
			on(t, conn, "sudo rm -rf "+remote.Directory)
			var reported []converge.Result
			cut := time.Time{}
			_, err := remote.Converge(t.Context(), conn, c, helpers, manifestOf(converge.Apply, execItem("first "+mode, "/bin/true"), execItem("second "+mode, "/bin/sleep 300")), func(r converge.Result) {
				if reported = append(reported, r); len(reported) == 1 {
					n.Fail(t, mode)
					cut = time.Now()
				}
			})
			took := time.Since(cut)
			n.Heal(t)
			var e *transport.Error
			if !errors.As(err, &e) || e.Kind != transport.Lost {
				t.Errorf("error is %#v (%v), want a lost connection", err, err)
			}
			if len(reported) != 1 || reported[0].Status != converge.Changed || took > 20*time.Second {
				t.Errorf("reported %+v, noticed after %s", reported, took)
			}
			t.Logf("%s: %v after %s", mode, err, took.Round(100*time.Millisecond))
		})
	}
}

// What a lost controller left behind is settled by the next one: it waits no longer than the session's silence.
func TestLabCancel(t *testing.T) {
	_, c, conn, helpers := labNode(t, "slipway")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var reported []converge.Result
	start := time.Now()
	items := []converge.Item{execItem("first", "/bin/true")}
	for i := range 3 {
		items = append(items, execItem(fmt.Sprint("slow", i), "/bin/sleep 300"))
	}
	s, err := remote.Converge(ctx, conn, c, helpers, manifestOf(converge.Apply, items...), func(r converge.Result) {
		if reported = append(reported, r); len(reported) == 1 {
			cancel()
		}
	})
	if err != nil || s.Protocol != converge.Protocol || len(reported) != len(items) {
		t.Fatalf("error %v, summary %+v, reported %+v", err, s, reported)
	}
	for _, r := range reported[2:] {
		if r.Status != converge.Skipped {
			t.Errorf("%s is %s, want skipped", r.ID, r.Status)
		}
	}
	if took := time.Since(start); took > time.Minute {
		t.Errorf("took %s", took)
	}
	if _, err := remote.Converge(t.Context(), conn, c, helpers, manifestOf(converge.Prepare), func(converge.Result) {}); err != nil {
		t.Errorf("the next session: %v", err)
	}
}

// Signs of life keep a session alive for longer than the helper bears silence.
func TestLabLongSession(t *testing.T) {
	_, c, conn, helpers := labNode(t, "root")
	var reported []converge.Result
	_, err := remote.Converge(t.Context(), conn, c, helpers, manifestOf(converge.Apply, execItem("long", "/bin/sleep 70")), func(r converge.Result) { reported = append(reported, r) })
	if err != nil || len(reported) != 1 || reported[0].Status != converge.Changed {
		t.Errorf("error %v, reported %+v", err, reported)
	}
}
