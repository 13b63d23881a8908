package transport

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// labNode returns how to reach a node of the lab, and skips when there is none.
func labNode(t *testing.T, user string) site.Connection {
	t.Helper()
	state := os.Getenv("SLIPWAY_LAB")
	if state == "" {
		t.Skip("NOT RUN: SLIPWAY_LAB, the lab's state directory, is not set, so nothing was tried on real nodes")
	}
	return site.Connection{User: user, PrivateKeyFile: filepath.Join(state, "id_ed25519"), KnownHostsFile: filepath.Join(state, "known_hosts")}
}

const labAddress = "10.231.1.1" // of node1

// lab runs the lab's command, and skips when it is not known.
func lab(t *testing.T, args ...string) {
	t.Helper()
	command := os.Getenv("SLIPWAY_LAB_COMMAND")
	if command == "" {
		t.Skip("NOT RUN: SLIPWAY_LAB_COMMAND, the lab's script, is not set, so no node was broken")
	}
	// Healing must work after the test, when its context has ended.
	if out, err := exec.CommandContext(context.WithoutCancel(t.Context()), command, args...).CombinedOutput(); err != nil {
		t.Fatalf("lab %v: %v\n%s", args, err, out)
	}
}

func TestLabSession(t *testing.T) {
	for _, user := range []string{"root", "slipway"} {
		c, err := Dial(t.Context(), labNode(t, user), "web1", labAddress)
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
	c := labNode(t, "nobody-of-that-name")
	_, err := Dial(t.Context(), c, "web1", labAddress)
	isError(t, err, Auth, "nobody-of-that-name", "authorized_keys")
	c = labNode(t, "root")
	c.KnownHostsFile = write(t, filepath.Join(t.TempDir(), "known_hosts"), "")
	_, err = Dial(t.Context(), c, "web1", labAddress)
	isError(t, err, HostKey, "is unknown", "ssh-ed25519 SHA256:")
	c.HostKeyPolicy = acceptNew
	conn, err := Dial(t.Context(), c, "web1", labAddress)
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	kept, err := os.ReadFile(c.KnownHostsFile)
	if err != nil || !strings.HasPrefix(string(kept), labAddress+" ssh-ed25519 ") {
		t.Errorf("remembered %q, error %v", kept, err)
	}
}

// execution.md 2.3: each of the ways in which nodes vanish ends a running command within about 8 s, and a new connection
// within its connect timeout.
func TestLabNodesThatVanish(t *testing.T) {
	c := labNode(t, "root")
	c.ConnectTimeout = 3 * time.Second
	for _, mode := range []string{"hang", "link", "freeze", "off"} {
		t.Run(mode, func(t *testing.T) {
			conn, err := Dial(t.Context(), c, "web1", labAddress)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			s, err := conn.Start(t.Context(), "sleep 1000")
			if err != nil {
				t.Fatal(err)
			}
			lab(t, "fail", "node1", mode)
			defer lab(t, "heal", "node1")
			start := time.Now()
			isError(t, s.Wait(), Lost)
			if took := time.Since(start); took > 10*time.Second {
				t.Errorf("the command took %s to fail", took)
			} else {
				t.Logf("%s: %v after %s", mode, s.Wait(), took.Round(100*time.Millisecond))
			}
			start = time.Now()
			_, err = Dial(t.Context(), c, "web1", labAddress)
			isError(t, err, Unreachable)
			if took := time.Since(start); took > 4*time.Second {
				t.Errorf("a new connection took %s to fail", took)
			} else {
				t.Logf("%s: %v after %s", mode, err, took.Round(100*time.Millisecond))
			}
		})
	}
}

// execution.md 2.2: sshd's MaxStartups of 10:30:100 resets some of many handshakes at once.
func TestLabManyHandshakesAtOnce(t *testing.T) {
	c := labNode(t, "root")
	c.ConnectTimeout = 30 * time.Second
	const many = 40
	errs := make(chan error, many)
	for range many {
		go func() {
			conn, err := Dial(t.Context(), c, "web1", labAddress)
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
