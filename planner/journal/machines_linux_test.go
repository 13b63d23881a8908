package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// hostOf is the environment variable with the name of the machine that a child process stands for, runOf that with its
// run.
const hostOf, runOf = "JOURNAL_TEST_HOST", "JOURNAL_TEST_RUN"

// startOnMachine is that process: it names its machine, starts a run and waits to be killed.
func startOnMachine(at Location) error {
	if err := unix.Sethostname([]byte(os.Getenv(hostOf))); err != nil {
		return err
	}
	s, err := at.Open(context.Background(), "lon1")
	if err != nil {
		return err
	}
	if _, err := s.Start(context.Background(), Run{ID: os.Getenv(runOf), Site: "lon1"}); err != nil {
		return err
	}
	fmt.Println("started")
	select {}
}

// onMachine returns a process with a host name, network and processes of its own, as on another machine.
func onMachine(ctx context.Context, at Location, host, run string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), runsIn+"="+at.URL, hostOf+"="+host, runOf+"="+run)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL,
		Cloneflags: syscall.CLONE_NEWUTS | syscall.CLONE_NEWNET | syscall.CLONE_NEWPID}
	return cmd
}

// Of two controllers on two machines with one site, the second is refused and names machine, process and run of the
// first; when the machine of the first is gone, the second has the site after the time of a lease.
func TestTwoMachines(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: controllers on two machines, because namespaces need root")
	}
	at := postgres(t)
	openSite(t, at)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	first := onMachine(ctx, at, "control-a", "run-a")
	var out bytes.Buffer
	ready, err := first.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	first.Stderr = &out
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, len("started\n"))
	if _, err := ready.Read(line); err != nil {
		t.Fatalf("%v: %s", errors.Join(err, first.Wait()), out.Bytes())
	}
	refusal, err := onMachine(ctx, at, "control-b", "run-b").CombinedOutput()
	want := regexp.MustCompile(`site "lon1" is held by run run-a of control-a, process 1, running since 20`)
	if err == nil || !want.Match(refusal) {
		t.Errorf("%v: %s", err, refusal)
	}
	kill(t, first)
	s := openSite(t, at)
	killed := time.Now()
	finish(t, start(t, s, "run-c"))
	if waited := time.Since(killed); waited < LeaseTime*9/10 {
		t.Errorf("the site was free after %s: nobody can know that the machine is gone", waited)
	}
}
