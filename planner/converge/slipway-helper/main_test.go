package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

func TestArguments(t *testing.T) {
	for name, test := range map[string]struct {
		args   []string
		status int
		out    string
		err    string
	}{
		"version": {[]string{"--version"}, statusDone, "slipway-helper dev protocol 1\n", ""},
		"other":   {[]string{"--help"}, statusUsage, "", "no arguments but --version"},
		"two":     {[]string{"--version", "x"}, statusUsage, "", "no arguments"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, complaints bytes.Buffer
			if got := run(test.args, strings.NewReader(""), &out, &complaints); got != test.status || out.String() != test.out || !strings.Contains(complaints.String(), test.err) {
				t.Errorf("status %d, %q, %q", got, out.String(), complaints.String())
			}
		})
	}
}

// A manifest that cannot be read is refused before anything on the machine is touched.
func TestBadManifest(t *testing.T) {
	var out, complaints bytes.Buffer
	if got := run(nil, strings.NewReader(`{"protocol":99}`), &out, &complaints); got != statusFailed || !strings.Contains(out.String(), `"code":"protocol"`) {
		t.Errorf("status %d, %q", got, out.String())
	}
}

func TestSignals(t *testing.T) {
	ctx, stop := untilAsked(t.Context())
	defer stop()
	self := os.Getpid()
	for _, s := range []syscall.Signal{syscall.SIGHUP, syscall.SIGPIPE, syscall.SIGTERM} {
		if ctx.Err() != nil {
			t.Fatalf("ended before %v", s)
		}
		if err := syscall.Kill(self, s); err != nil {
			t.Fatal(err)
		}
	}
	<-ctx.Done()
}

// build builds the helper as the release does.
func build(t *testing.T, arch string) string {
	t.Helper()
	helper := filepath.Join(t.TempDir(), "helper-linux-"+arch)
	cmd := exec.CommandContext(t.Context(), "sh", "../remote/build.sh", filepath.Dir(helper))
	cmd.Env = append(os.Environ(), "HELPER_PLATFORMS=linux/"+arch)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if text, err := exec.CommandContext(t.Context(), "sh", "-c", `gzip -dc "$0"-*.gz >"$0"`, helper).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if err := os.Chmod(helper, 0o700); err != nil {
		t.Fatal(err)
	}
	return helper
}

// execution.md 2, rule 4: a reader that is gone does not kill the process before it has ended its session.
func TestTheProcessOutlivesItsReader(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TESTED: the helper as a process, because building it takes its time")
	}
	cmd := exec.CommandContext(t.Context(), build(t, runtime.GOARCH))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = write
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	write.Close()
	read.Close() // nobody reads the results
	if _, err := in.Write([]byte(`{"protocol":1,"site":"s","run":"r","mode":"nonsense"}` + "\n")); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != statusFailed {
		t.Errorf("the helper ended with %v, want status %d and no signal", err, statusFailed)
	}
}

// The helper at work on a whole root, with the machine's own rules: it is root, and the root is "/".
func TestInARootOfItsOwn(t *testing.T) {
	if testing.Short() || os.Geteuid() != 0 {
		t.Skip("NOT TESTED: the helper in a root of its own, which needs root and takes its time")
	}
	helper, err := os.ReadFile(build(t, runtime.GOARCH))
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	for _, dir := range []string{"etc", "var/lib/slipway"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range map[string]string{"var/lib/slipway/helper": string(helper), "etc/motd": "old\n"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	session := func(manifest string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "/var/lib/slipway/helper")
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root}
		cmd.Dir = "/"
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := in.Write([]byte(manifest + "\n")); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v\n%s", err, out.String())
		}
		return out.String()
	}
	items := `,"items":[{"type":"file","title":"/etc/motd","parameters":{"content":"new\n","mode":"0600"},"digest":"d1"},{"type":"file","title":"/etc/d","parameters":{"ensure":"directory"},"digest":"d2"}]}`
	for _, step := range []struct{ manifest, want string }{
		{`{"protocol":1,"site":"s","mode":"prepare"}`, `"ledger":{}`},
		{`{"protocol":1,"site":"s","mode":"check"` + items, `"status":"differs"`},
		{`{"protocol":1,"site":"s","run":"r","mode":"apply"` + items, `"ledger":{"file[/etc/d]":"d2","file[/etc/motd]":"d1"}`},
		{`{"protocol":1,"site":"s","run":"r","mode":"apply"` + items, `"status":"unchanged"`},
		{`{"protocol":1,"site":"s","run":"r","mode":"apply","tear_down":true}`, `"ledger":{}`},
	} {
		if out := session(step.manifest); !strings.Contains(out, step.want) {
			t.Errorf("%s\nanswered %s\nwant %s", step.manifest, out, step.want)
		}
	}
	if content, err := os.ReadFile(filepath.Join(root, "etc/motd")); err != nil || string(content) != "old\n" {
		t.Errorf("%q, %v", content, err)
	}
	for _, gone := range []string{"etc/d", "var/lib/slipway"} {
		if _, err := os.Lstat(filepath.Join(root, gone)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", gone, err)
		}
	}
}
