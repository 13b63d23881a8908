package remote

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
	"github.com/slipway/terraform-provider-slipway/planner/transport"
	"github.com/slipway/terraform-provider-slipway/planner/transport/sshtest"
)

const summary = `echo '{"summary":{"protocol":1,"ledger":{}}}'`

const result = `echo '{"result":{"id":"file[/a]","status":"changed","millis":1}}'`

func TestWhatHelpersSend(t *testing.T) {
	for _, test := range []struct {
		name, script string
		results      int
		code         converge.Code // empty: it works
		words        []string
	}{
		{"summary only", "read -r c\n" + summary, 0, "", nil},
		{"status after the summary", "read -r c\n" + summary + "\nexit 7", 0, "", nil},
		{"error without reading the manifest", `echo '{"summary":{"protocol":1,"ledger":{},"error":{"code":"locked","message":"busy"}}}'`,
			0, converge.CodeLocked, []string{"busy"}},
		{"other protocol", `echo '{"summary":{"protocol":2,"ledger":{}}}'`, 0, converge.CodeProtocol, []string{"protocol 2"}},
		{"no summary", "read -r c\n" + result, 1, converge.CodeLost, []string{"without its summary"}},
		{"nothing", "exit 0", 0, converge.CodeLost, []string{"unknown"}},
		{"panic", "read -r c\n" + result + "\necho 'panic: oops' >&2; exit 2", 1, converge.CodeLost, []string{"status 2", "panic: oops"}},
		{"killed", "read -r c\n" + result + "\nkill -KILL $$", 1, converge.CodeLost, []string{"status 137"}},
		{"not a message", "read -r c\n" + result + "\necho hello", 1, converge.CodeProtocol, []string{`"hello"`, "not a message"}},
		{"empty line", "read -r c\necho", 0, converge.CodeProtocol, []string{"not a message"}},
		{"unknown field", `echo '{"progress":1}'`, 0, converge.CodeProtocol, []string{"progress"}},
		{"both", `echo '{"result":{"id":"a[b]"},"summary":{"protocol":1}}'`, 0, converge.CodeProtocol, []string{"one of result, summary and want"}},
		{"two on a line", `echo '{"result":{"id":"a[b]"}} {"result":{"id":"a[b]"}}'`, 0, converge.CodeProtocol, []string{"something follows"}},
		{"a stray line after the summary", "read -r c\n" + summary + "\n" + result + "; echo a job of a login script", 0, "", nil},
		{"more results than items", "read -r c\n" + result + "\n" + result + "\n" + result + "\n" + summary, 2, converge.CodeProtocol, []string{"more than the 2 results"}},
		{"more entries than a ledger holds", "read -r c\nprintf '{\"summary\":{\"protocol\":1,\"ledger\":{'; " +
			"seq -s, -f '\"file[/%.0f]\":\"x\"' 1 90000 | tr -d '\\n'; echo '}}}'", 0, converge.CodeProtocol, []string{"more than 10000 resources", "was given up"}},
		{"half a line", "read -r c\nprintf '{\"result\":'", 0, converge.CodeLost, nil},
		{"endless line", "exec cat /dev/zero", 0, converge.CodeProtocol, []string{"a line of more than 262144 bytes", "was given up"}},
		{"long error", `printf '{"summary":{"protocol":1,"ledger":{},"error":{"code":"locked","message":"busy'; ` +
			"head -c 200000 /dev/zero | tr '\\000' x; echo '\"}}}'", 0, converge.CodeProtocol, []string{"an error of more than 16384 bytes"}},
		{"long reason of a guard", `printf '{"summary":{"protocol":1,"ledger":{},"put_back":{"site":"lon1","guard":"g","why":"'; ` +
			"head -c 200000 /dev/zero | tr '\\000' x; echo '\"}}}'", 0, converge.CodeProtocol, []string{"more of what it has put back than"}},
		{"many resources put back", `printf '{"summary":{"protocol":1,"ledger":{},"put_back":{"site":"lon1","guard":"g","resources":['; ` +
			"seq -s, -f '\"file[/%0450.0f]\"' 1 9000 | tr -d '\\n'; echo ']}}}'", 0, converge.CodeProtocol, []string{"more of what it has put back than"}},
		{"long summary", "read -r c\nprintf '{\"summary\":{\"protocol\":1,\"ledger\":{'; " +
			"seq -s, -f '\"file[/%0450.0f]\":\"x\"' 1 10000 | tr -d '\\n'; echo '}}}'", 0, "", nil},
		{"long line", "read -r c\nprintf '{\"result\":{\"id\":\"a[b]\",\"status\":\"changed\",\"millis\":1,\"output\":\"'; head -c 900000 /dev/zero | tr '\\000' x; echo '\"}}'\n" + summary, 0, converge.CodeProtocol, []string{"a result of more than 262144 bytes"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			n := newNode(t, sshtest.Options{})
			n.program("tr", `exec /usr/bin/tr "$@"`)
			n.program("seq", `exec /usr/bin/seq "$@"`)
			_, results, err := n.converge(n.helpers(test.script))
			if len(results) != test.results {
				t.Errorf("%d results, want %d", len(results), test.results)
			}
			if test.code != "" {
				refused(t, err, test.code, test.words...)
				if len(err.Error()) > 700 {
					t.Errorf("the message has %d bytes", len(err.Error()))
				}
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

// TestAllResultsOfASessionAreBounded: results that are each within their bound are too much together, and none of them
// stays in memory.
func TestAllResultsOfASessionAreBounded(t *testing.T) {
	n := newNode(t, sshtest.Options{})
	n.program("tr", `exec /usr/bin/tr "$@"`)
	line := filepath.Join(filepath.Dir(n.bin), "line")
	script := `read -r c
{ printf '{"result":{"id":"a[b]","status":"changed","millis":1,"output":"'; head -c 250000 /dev/zero | tr '\000' x; echo '"}}'; } > ` + line + `
i=0; while [ $i -lt 400 ]; do cat ` + line + `; i=$((i+1)); done
` + summary
	c := manifest()
	for range 400 {
		c.Items = append(c.Items, c.Items[0])
	}
	var most uint64
	_, err := n.limits.converge(t.Context(), n.on(n.conn), n.connection, n.helpers(script), c, func(converge.Result) {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		most = max(most, m.HeapAlloc)
	})
	refused(t, err, converge.CodeProtocol, "more than 2695168 bytes", "was given up") // 1 MiB, and 4 KiB for each of 402
	if most > 64<<20 {
		t.Errorf("the session took %d bytes of memory", most)
	}
}

// TestWhatNodesSendDoesNotActOnTerminals: a node that is not what it was may send anything.
func TestWhatNodesSendDoesNotActOnTerminals(t *testing.T) {
	m, err := decode([]byte(`{"result":{"id":"a[b]","status":"failed","millis":1,"message":"\u001b[2Jm","output":"o\u0007\n","differences":[{"parameter":"p","is":"\u009bi","should":"\u202es"}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	if r := m.Result; r.Message != "[2Jm" || r.Output != "o\n" || r.Differences[0] != (types.Difference{Parameter: "p", Is: "i", Should: "s"}) {
		t.Errorf("%+v", *r)
	}
	m, err = decode([]byte(`{"summary":{"protocol":1,"ledger":{},"error":{"code":"locked","message":"\u001b]0;busy"}}}`))
	if err != nil || m.Summary.Error.Message != "]0;busy" {
		t.Errorf("%v, %q", err, m.Summary.Error)
	}
}

func TestResultsComeAsTheyAreKnown(t *testing.T) {
	n := newNode(t, sshtest.Options{})
	go_ := filepath.Join(filepath.Dir(n.bin), "go") // the second result waits for the first to have been seen
	script := "read -r c\n" + result + "\nwhile ! [ -e " + go_ + " ]; do sleep 0.01; done\n" + result + "\n" + summary
	count := 0
	_, err := n.limits.converge(t.Context(), n.on(n.conn), n.connection, n.helpers(script), manifest(), func(converge.Result) {
		if count++; count == 1 {
			if err := os.WriteFile(go_, nil, 0o600); err != nil {
				t.Error(err)
			}
		}
	})
	if err != nil || count != 2 {
		t.Errorf("%d results, error %v", count, err)
	}
}

func TestSignsOfLife(t *testing.T) {
	n := newNode(t, sshtest.Options{})
	if _, _, err := n.converge(n.helpers("read -r c; read -r sign && [ -z \"$sign\" ] && read -r sign && " + summary)); err != nil {
		t.Errorf("no signs of life after the manifest: %v", err)
	}
	if 3*standard.beat >= converge.SessionTimeout {
		t.Errorf("a sign of life each %s: two lost ones already end a session of %s", standard.beat, converge.SessionTimeout)
	}
}

// during runs a manifest and calls what when the first result came.
func (n *node) during(script string, what func(cancel func())) (converge.Summary, int, error) {
	ctx, cancel := context.WithCancel(n.t.Context())
	defer cancel()
	count := 0
	s, err := n.limits.converge(ctx, n.on(n.conn), n.connection, n.helpers(script), manifest(), func(converge.Result) {
		if count++; count == 1 {
			what(cancel)
		}
	})
	return s, count, err
}

const untilInputEnds = "read -r c\n" + result + "\ncat >/dev/null\n"

func TestTheContextEnds(t *testing.T) {
	t.Run("helper finishes", func(t *testing.T) {
		n := newNode(t, sshtest.Options{})
		_, count, err := n.during(untilInputEnds+result+"\n"+summary, func(cancel func()) { cancel() })
		if err != nil || count != 2 {
			t.Errorf("%d results, error %v", count, err)
		}
	})
	t.Run("helper learns that the session ends", func(t *testing.T) {
		n := newNode(t, sshtest.Options{})
		script := "read -r c\n" + result + "\n" + `while read -r l; do last=$l; done; [ "$last" = end ]` + " && " + result + "\n" + summary
		if _, count, err := n.during(script, func(cancel func()) { cancel() }); err != nil || count != 2 {
			t.Errorf("%d results, error %v", count, err)
		}
	})
	t.Run("helper does not finish", func(t *testing.T) {
		n := newNode(t, sshtest.Options{})
		n.limits.grace = 100 * time.Millisecond
		_, count, err := n.during("read -r c\n"+result+"\nexec sleep 1000", func(cancel func()) { cancel() })
		refused(t, err, converge.CodeLost, "context canceled", "unknown")
		if count != 1 {
			t.Errorf("%d results", count)
		}
		if _, _, err := n.converge(n.helpers(good)); err != nil {
			t.Errorf("the connection did not survive: %v", err)
		}
	})
	// The connection of a node that is mute is given up after 8 s; the session must not last as long.
	ends := func(t *testing.T, n *node, run func() error, words ...string) {
		ended := make(chan error, 1)
		go func() { ended <- run() }()
		select {
		case err := <-ended:
			refused(t, err, converge.CodeLost, words...)
		case <-time.After(7 * time.Second):
			_ = n.conn.Close()
			t.Errorf("the session goes on after its end, until its connection is closed: %v", <-ended)
		}
	}
	t.Run("helper does not read its manifest", func(t *testing.T) {
		n := newNode(t, sshtest.Options{})
		n.limits.grace = 100 * time.Millisecond
		large := manifest()
		large.Items[0].Parameters["content"] = strings.Repeat("x", 8<<20) // the window of a session has 2 MiB
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		ends(t, n, func() error {
			_, err := n.limits.converge(ctx, n.on(n.conn), n.connection, n.helpers(result+"\nexec sleep 1000"), large, func(converge.Result) {
				n.server.Mute(true)
				cancel()
			})
			return err
		}, "context canceled", "unknown")
		n.server.Mute(false)
	})
	t.Run("node does not read the helper", func(t *testing.T) {
		n := newNode(t, sshtest.Options{})
		n.limits.upload = 500 * time.Millisecond
		n.program("head", `touch "$NODE/here"; exec sleep 1000`)
		noise := make([]byte, 4<<20)
		if _, err := rand.Read(noise); err != nil {
			t.Fatal(err)
		}
		go func() {
			for t.Context().Err() == nil {
				if _, err := os.Stat(filepath.Join(filepath.Dir(n.bin), "here")); err == nil {
					n.server.Mute(true)
					return
				}
				time.Sleep(time.Millisecond)
			}
		}()
		large := n.helpers("# " + hex.EncodeToString(noise) + "\n" + good)
		ends(t, n, func() error {
			_, _, err := n.converge(large)
			return err
		}, "could not be started in time")
		n.server.Mute(false)
	})
	t.Run("before the helper runs", func(t *testing.T) {
		n := newNode(t, sshtest.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		n.program("uname", `touch "$NODE/here"; exec sleep 1000`)
		go func() {
			tick := time.NewTicker(time.Millisecond)
			defer tick.Stop()
			for ctx.Err() == nil {
				<-tick.C
				if _, err := os.Stat(filepath.Join(filepath.Dir(n.bin), "here")); err == nil {
					cancel()
				}
			}
		}()
		_, err := n.limits.converge(ctx, n.on(n.conn), n.connection, n.helpers(good), manifest(), func(converge.Result) {})
		// It is the transport's error when its answer to the start was still under way.
		if err == nil || !strings.Contains(err.Error(), "given up") || !strings.Contains(err.Error(), "context canceled") {
			t.Errorf("error is %v", err)
		}
	})
	t.Run("before the session", func(t *testing.T) {
		n := newNode(t, sshtest.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := n.limits.converge(ctx, n.on(n.conn), n.connection, n.helpers(good), manifest(), func(converge.Result) {})
		if err == nil {
			t.Error("no error")
		}
	})
}

func TestTheConnectionBreaks(t *testing.T) {
	n := newNode(t, sshtest.Options{})
	_, count, err := n.during(untilInputEnds, func(func()) { n.server.Drop() })
	var e *transport.Error
	if !errors.As(err, &e) || e.Kind != transport.Lost || e.Node != "web1" || count != 1 {
		t.Errorf("%d results, error %#v", count, err)
	}
}

func TestSecretsStayOutOfTheCommand(t *testing.T) {
	n := newNode(t, sshtest.Options{})
	spy := &spyConn{Conn: n.conn}
	yes := true
	n.program("sudo", asks)
	n.connection.Sudo, n.connection.SudoPassword = &yes, "se same"
	if _, err := n.limits.converge(t.Context(), n.on(spy), n.connection, n.helpers(good), manifest(), func(converge.Result) {}); err != nil {
		t.Fatal(err)
	}
	if spy.command == "" || strings.Contains(spy.command, "se same") || strings.Contains(spy.command, "it's") {
		t.Errorf("the command shows a secret: %s", spy.command)
	}
}

// spyConn remembers what was started.
type spyConn struct {
	transport.Conn
	command string
}

func (c *spyConn) Start(ctx context.Context, command string) (transport.Session, error) {
	c.command = command
	return c.Conn.Start(ctx, command)
}

// What a helper sends while its commands run is passed on, is none of the results, and is bounded.
func TestLiveOutputIsPassedOnAndBounded(t *testing.T) {
	const printing = `printf '%s\n' '{"result":{"id":"file[/etc/motd]","status":"printing","output":"half\u001b[2J\n","millis":0}}'`
	n := newNode(t, sshtest.Options{})
	s, results, err := n.converge(n.helpers("read -r c\n" + printing + "\n" + printing + "\n" + result + "\n" + summary))
	if err != nil || s.Protocol != converge.Protocol || len(results) != 3 || results[0].Output != "half[2J\n" || results[2].Status != converge.Changed {
		t.Errorf("results %+v, error %v", results, err)
	}
	_, results, err = n.converge(n.helpers("read -r c\n while :; do " + printing + "; done"))
	refused(t, err, converge.CodeProtocol, "more of what commands print while they run than", "was given up")
	if len(results) != converge.LiveMessages {
		t.Errorf("%d messages were passed on, at most %d may be", len(results), converge.LiveMessages)
	}
}
