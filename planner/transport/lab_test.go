package transport

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/test/lab"
)

// labNode borrows a node of the lab, and returns how a user reaches it.
func labNode(t *testing.T, user string) (lab.Node, site.Connection) {
	t.Helper()
	n := lab.Borrow(t)
	return n, site.Connection{User: user, PrivateKeyFile: n.Lab.State("id_ed25519"),
		KnownHostsFile: n.Lab.State("known_hosts")}
}

func TestLabSession(t *testing.T) {
	for _, user := range []string{"root", "slipway"} {
		n, connection := labNode(t, user)
		c, err := Dial(t.Context(), connection, "web1", n.Address)
		if err != nil {
			t.Fatal(err)
		}
		out, err := run(t.Context(), c, "id -un; cat", "x")
		if err != nil || out != user+"\nx" {
			t.Errorf("out %q, error %v", out, err)
		}
		_, err = run(t.Context(), c, "exit 3", "")
		var exit *ExitError
		if !errors.As(err, &exit) || exit.Status != 3 {
			t.Errorf("exit 3 gives %#v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		s, err := c.Start(ctx, "exec sleep 1000")
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		isError(t, s.Wait(), Lost, "given up")
		if _, err := run(t.Context(), c, "true", ""); err != nil {
			t.Errorf("the connection did not survive: %v", err)
		}
		c.Close()
	}
}

func TestLabRefusals(t *testing.T) {
	n, c := labNode(t, "nobody-of-that-name")
	_, err := Dial(t.Context(), c, "web1", n.Address)
	isError(t, err, Auth, "nobody-of-that-name", "authorized_keys")
	n, c = labNode(t, "root")
	c.KnownHostsFile = write(t, filepath.Join(t.TempDir(), "known_hosts"), "")
	_, err = Dial(t.Context(), c, "web1", n.Address)
	isError(t, err, HostKey, "is unknown", "ssh-ed25519 SHA256:")
	c.HostKeyPolicy = acceptNew
	conn, err := Dial(t.Context(), c, "web1", n.Address)
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	kept, err := os.ReadFile(c.KnownHostsFile)
	if err != nil || !strings.HasPrefix(string(kept), n.Address+" ssh-ed25519 ") {
		t.Errorf("remembered %q, error %v", kept, err)
	}
}

// execution.md 2.3: each of the ways in which nodes vanish ends a running command within about 8 s, and a new
// connection within its connect timeout.
func TestLabNodesThatVanish(t *testing.T) {
	n, c := labNode(t, "root")
	c.ConnectTimeout = 3 * time.Second
	for _, mode := range []string{"hang", "link", "freeze", "off"} {
		t.Run(mode, func(t *testing.T) {
			conn, err := Dial(t.Context(), c, "web1", n.Address)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			s, err := conn.Start(t.Context(), "sleep 1000")
			if err != nil {
				t.Fatal(err)
			}
			n.Fail(t, mode)
			defer n.Heal(t)
			start := time.Now()
			isError(t, s.Wait(), Lost)
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("the command took %s to fail", took)
			} else {
				t.Logf("%s: %v after %s", mode, s.Wait(), took.Round(100*time.Millisecond))
			}
			start = time.Now()
			_, err = Dial(t.Context(), c, "web1", n.Address)
			isError(t, err, Unreachable)
			if took := time.Since(start); took > 10*time.Second {
				t.Errorf("a new connection took %s to fail", took)
			} else {
				t.Logf("%s: %v after %s", mode, err, took.Round(100*time.Millisecond))
			}
		})
	}
}

// execution.md 2.1: a session that sshd refuses for its MaxSessions is asked for again, and the connection lives.
func TestLabRefusedSessions(t *testing.T) {
	n, c := labNode(t, "root")
	n.On(t, "echo MaxSessions 2 >/etc/ssh/sshd_config.d/few.conf && systemctl restart ssh")
	defer n.On(t, "rm /etc/ssh/sshd_config.d/few.conf && systemctl restart ssh")
	conn, err := Dial(t.Context(), c, "web1", n.Address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var held []Session
	for range 2 {
		s, err := conn.Start(t.Context(), "cat")
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, s)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err = conn.Start(ctx, "true")
	isError(t, err, Lost, "given up") // it would have been asked for until there is room
	held[0].Stdin().Close()
	if err := held[0].Wait(); err != nil {
		t.Error(err)
	}
	if out, err := run(t.Context(), conn, "cat", "x"); out != "x" || err != nil {
		t.Errorf("out %q, error %v", out, err)
	}
	held[1].Stdin().Close()
	if err := held[1].Wait(); err != nil {
		t.Errorf("a session died of another's refusal: %v", err)
	}
}

// execution.md 2.2: sshd's MaxStartups of 10:30:100 resets some of many handshakes at once.
func TestLabManyHandshakesAtOnce(t *testing.T) {
	n, c := labNode(t, "root")
	c.ConnectTimeout = 30 * time.Second
	const many = 40
	errs := make(chan error, many)
	for range many {
		go func() {
			conn, err := Dial(t.Context(), c, "web1", n.Address)
			if err == nil {
				_, err = run(t.Context(), conn, "true", "")
				conn.Close()
			}
			errs <- err
		}()
	}
	for range many {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}
