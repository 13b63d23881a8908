//go:build unix

package controller

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/callback"
)

// sh is a callback that runs a script.
func sh(script string, p params) params {
	out := params{"argv": []any{"/bin/sh", "-c", script}}
	for k, v := range p {
		out[k] = v
	}
	return out
}

func TestCommand(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c := New(Options{Environment: []string{"PATH=/usr/bin:/bin", "TOKEN=secret", "PROFILE=prod"}, Clock: &stepped{}})
	tests := map[string]struct {
		parameters params
		want       map[string]any
	}{
		"text": {sh("echo a; echo b; echo", nil), map[string]any{"stdout": "a\nb"}},
		"none": {sh("echo a", params{"output": "none"}), nil},
		"json": {sh(`echo '{"id": 7, "f": 1.5, "tags": ["x"], "gone": null}'`, params{"output": "json"}),
			map[string]any{"id": int64(7), "f": 1.5, "tags": []any{"x"}}},
		"no shell": {params{"argv": []any{"echo", "$HOME;", "*"}}, map[string]any{"stdout": "$HOME; *"}},
		"stdin":    {sh("cat", params{"stdin": "over"}), map[string]any{"stdout": "over"}},
		"no stdin": {sh("cat", nil), map[string]any{"stdout": ""}},
		"cwd":      {sh("pwd", params{"cwd": dir}), map[string]any{"stdout": dir}},
		"environment": {sh(`echo "$A ${TOKEN-none} $PROFILE"`,
			params{"environment": map[string]any{"A": int64(1)},
				"inherit": "PROFILE"}), map[string]any{"stdout": "1 none prod"}},
		"given one wins": {sh(`echo "$PROFILE"`, params{"environment": map[string]any{"PROFILE": "test"},
			"inherit": "PROFILE"}), map[string]any{"stdout": "test"}},
		"much on stderr": {
			sh(`i=0; while [ $i -lt 3000 ]; do echo "0123456789012345678901234567890123456789" >&2; i=$((i+1)); done`,
				nil), map[string]any{"stdout": ""}},
		"a second try": {sh(`[ -e second ] && echo done || { touch second; exit 1; }`,
			params{"cwd": dir, "retries": int64(1)}), map[string]any{"stdout": "done"}},
		"not UTF-8":       {sh(`printf 'a\377b'`, nil), map[string]any{"stdout": "a\uFFFDb"}},
		"stdin left over": {sh("true", params{"stdin": strings.Repeat("x", 1<<20)}), map[string]any{"stdout": ""}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := c.Call(t.Context(), io.Discard, of(callback.Command, tt.parameters))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestCommandFails(t *testing.T) {
	c := New(Options{Clock: &stepped{}})
	tests := map[string]struct {
		parameters params
		want       []string
	}{
		"status": {sh("echo no luck >&2; exit 3", nil),
			[]string{`command: "/bin/sh" ended with exit status 3: no luck`, "!tries"}},
		"only output":  {sh("echo done; exit 1", nil), []string{"ended with exit status 1: its standard error is empty"}},
		"signal":       {sh("kill -9 $$", nil), []string{"signal: killed"}},
		"tries":        {sh("exit 1", params{"retries": int64(4)}), []string{"exit status 1", "the last of 5 tries"}},
		"argv is kept": {sh("exit 1 # topsecret", nil), []string{"!topsecret"}},
		"secrets": {sh(`echo "cannot log in with $TOKEN" >&2; exit 1`,
			params{"environment": map[string]any{"TOKEN": "topsecret"}}), []string{
			"cannot log in with (sensitive)", "!topsecret"}},
		"cut through": {sh(`cat >&2; exit 1`, params{"stdin": strings.Repeat("q", 2*errorLimit)}),
			[]string{"it said nothing", "!q"}},
		"escaped": {sh(`printf '%s' '{"p":"top\"secret\n"} a%2Fsecret+x' >&2; exit 1`,
			params{"environment": map[string]any{"A": "top\"secret\n", "B": "a/secret x"}}), []string{
			"(sensitive)", "!secret"}},
		"sensitive": {sh(`echo "something" >&2; exit 1`, params{"sensitive": true}),
			[]string{"exit status 1", "not shown", "!something", "!/bin/sh"}},
		"long": {sh(`head -c 1000000 /dev/zero | tr '\0' a >&2; echo end >&2; exit 1`, nil),
			[]string{"...aaa", "end"}},
		"not there": {params{"argv": []any{"/no/such/program"}, "retries": int64(9)},
			[]string{"cannot be started", "no such file", "!tries"}},
		"one word": {params{"argv": "echo hello"}, []string{"argv is a list with an item for each word"}},
		"no directory": {sh("true", params{"cwd": "/no/such/directory"}),
			[]string{"cwd: there is no directory /no/such/directory"}},
		"no JSON": {sh("echo hello", params{"output": "json", "retries": int64(9)}),
			[]string{`the standard output of "/bin/sh" is not JSON: at byte`, "!tries"}},
		"no object": {sh("echo '[1]'", params{"output": "json"}), []string{"not an object"}},
		"empty":     {sh("true", params{"output": "json"}), []string{"it is empty"}},
		"too much":  {sh("head -c 1048577 /dev/zero", nil), []string{"wrote more than 1048576 bytes"}},
		"timeout": {sh("echo waiting >&2; sleep 60", params{"timeout": int64(1)}),
			[]string{"was ended: ran into its timeout of 1s: waiting"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := c.Call(t.Context(), io.Discard, of(callback.Command, tt.parameters))
			wantError(t, err, tt.want...)
			if len(err.Error()) > shownLimit+500 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
		})
	}
}

// TestCommandIsEnded: when the run ends, so does the program, with all that it started, even what does not heed
// SIGTERM.
func TestCommandIsEnded(t *testing.T) {
	for name, script := range map[string]string{
		"heeds":   `sleep 60 & echo $! > child; echo $$ > pid.new; mv pid.new pid; wait`,
		"ignores": `trap '' TERM; sleep 60 & echo $! > child; echo $$ > pid.new; mv pid.new pid; while :; do wait; done`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			ctx, cancel := context.WithCancelCause(t.Context())
			cause := errors.New("the run was interrupted")
			failed := make(chan error, 1)
			go func() {
				_, err := New(Options{Grace: 200 * time.Millisecond}).Call(ctx, io.Discard,
					of(callback.Command, sh(script, params{"cwd": dir, "retries": int64(5)})))
				failed <- err
			}()
			pids := []int{await(t, filepath.Join(dir, "pid")), await(t, filepath.Join(dir, "child"))}
			cancel(cause)
			err := <-failed
			if !errors.Is(err, cause) {
				t.Errorf("got %v", err)
			}
			for _, pid := range pids {
				for syscall.Kill(pid, 0) == nil && !zombie(pid) {
					if t.Context().Err() != nil {
						t.Fatalf("%d is still there", pid)
					}
				}
			}
		})
	}
}

// zombie reports whether the process has ended and only its parent, outside of this test, has not looked yet.
func zombie(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err != nil || strings.Contains(string(stat), ") Z ")
}

// await returns the number in a file, once it is there.
func await(t *testing.T, file string) int {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		data, err := os.ReadFile(file)
		if n, bad := strconv.Atoi(strings.TrimSpace(string(data))); err == nil && bad == nil {
			return n
		}
	}
	t.Fatalf("%s never came", file)
	return 0
}

// TestCommandLeavesDaemon: a program that leaves a daemon behind which holds its output is done when it has ended
// itself.
func TestCommandLeavesDaemon(t *testing.T) {
	dir := t.TempDir()
	got, err := New(Options{Grace: 100 * time.Millisecond}).Call(t.Context(), io.Discard,
		of(callback.Command, sh(`sleep 30 & echo $! > child; echo started`, params{"cwd": dir})))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]any{"stdout": "started"}, got); d != "" {
		t.Error(d)
	}
	if err := syscall.Kill(await(t, filepath.Join(dir, "child")), syscall.SIGKILL); err != nil {
		t.Errorf("the daemon is gone: %v", err)
	}
}
