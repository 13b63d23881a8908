package examples

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// demo returns a copy of the demo, that is not started yet, as `make demo` starts it.
func demo(t *testing.T, program string, args ...string) *exec.Cmd {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(top, "examples"))); err != nil {
		t.Fatal(err)
	}
	tf := binary(t, dir)
	cmd := exec.CommandContext(t.Context(), program, append(args, filepath.Join(dir, "demo/run"))...)
	cmd.Env = append(tf.Env, "TF="+tf.Path, "PATH="+filepath.Dir(os.Getenv("SLIPWAY_MIRROR"))+":"+os.Getenv("PATH"))
	return cmd
}

// On a terminal, the demo keeps its page until somebody presses Enter, and says so; elsewhere it ends by itself.
func TestDemoKeepsItsPage(t *testing.T) {
	script, err := exec.LookPath("script")
	if err != nil {
		t.Skip("script(1) is missing")
	}
	cmd := demo(t, script, "-qefc")
	cmd.Args = append(cmd.Args, os.DevNull)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var seen strings.Builder
	read := bufio.NewReader(out)
	for !strings.Contains(seen.String(), "Enter ends the page") {
		b, err := read.ReadByte()
		if err != nil {
			t.Fatalf("%v: it ends without waiting:\n%s", err, seen.String())
		}
		seen.WriteByte(b)
	}
	address := regexp.MustCompile(`the page still shows what happened: (http://\S+/)`).FindStringSubmatch(seen.String())
	if address == nil {
		t.Fatalf("it prints no address:\n%s", seen.String())
	}
	answer, err := http.Get(address[1])
	if err != nil || answer.Body.Close() != nil || answer.StatusCode != http.StatusOK {
		t.Errorf("%s does not answer: %v, %v", address[1], answer, err)
	}
	if _, err := io.WriteString(in, "\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(&seen, read); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v:\n%s", err, seen.String())
	}
	if answer, err := http.Get(address[1]); err == nil {
		_ = answer.Body.Close()
		t.Error("the page is still there")
	}

	var all bytes.Buffer
	cmd = demo(t, "bash")
	cmd.Stdout, cmd.Stderr = &all, &all
	if err := cmd.Run(); err != nil || !strings.Contains(all.String(), "every node is as it was") || strings.Contains(all.String(), "Enter") {
		t.Errorf("%v:\n%s", err, all.String())
	}
}
