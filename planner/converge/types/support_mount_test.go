package types

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
)

// kernel keeps account of mounts as the commands mount and umount change them, from the sandbox's own fstab.
type kernel struct {
	t     *testing.T
	sys   *Session
	fail  string      // a command that begins with this fails
	mode  fs.FileMode // of the root of what is mounted; 0: that of the directory
	calls []string    // what was run
}

func newKernel(t *testing.T, fstab string, live ...string) *kernel {
	k := &kernel{t: t}
	k.sys = wholeMachine(t, map[string]string{"etc/fstab": fstab, "proc/self/mountinfo": "", "mnt/": ""}, k.run)
	k.set(live)
	return k
}

// live are lines `point source type options`.
func (k *kernel) live() []string {
	content, err := os.ReadFile(k.sys.Root + "/proc/self/mountinfo")
	if err != nil {
		k.t.Fatal(err)
	}
	var out []string
	for text := range strings.Lines(string(content)) {
		f := strings.Fields(text)
		out = append(out, strings.Join([]string{f[4], f[8], f[7], f[5]}, " "))
	}
	return out
}

func (k *kernel) set(live []string) {
	var b strings.Builder
	for i, l := range live {
		f := strings.Fields(l)
		fmt.Fprintf(&b, "%d 1 0:1 / %s %s - %s %s rw\n", i, f[0], f[3], f[2], f[1])
	}
	if err := os.WriteFile(k.sys.Root+"/proc/self/mountinfo", []byte(b.String()), 0o644); err != nil {
		k.t.Fatal(err)
	}
}

func (k *kernel) run(c system.Command) (system.Output, error) {
	call := strings.Join(c.Argv, " ")
	k.calls = append(k.calls, call)
	if k.fail != "" && strings.HasPrefix(call, k.fail) {
		return system.Output{Status: 32, Combined: "mount: refused\n"}, nil
	}
	live, point := k.live(), c.Argv[len(c.Argv)-1]
	onDisk := point
	if name, err := filepath.EvalSymlinks(k.sys.Root + point); err == nil {
		onDisk = strings.TrimPrefix(name, k.sys.Root)
	}
	at := -1
	for i, l := range live {
		if strings.HasPrefix(l, onDisk+" ") {
			at = i
		}
	}
	entry := ""
	fstab, err := os.ReadFile(k.sys.Root + "/etc/fstab")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return system.Output{}, err
	}
	for text := range strings.Lines(string(fstab)) {
		if f := strings.Fields(text); entry == "" && len(f) > 3 && f[1] == point {
			entry = strings.Join([]string{onDisk, f[0], f[2], f[3]}, " ")
		}
	}
	switch {
	case call == "systemctl daemon-reload":
	case c.Argv[0] == "umount" && at >= 0:
		live = append(live[:at], live[at+1:]...)
	case len(c.Argv) == 2 && entry != "":
		live = append(live, entry)
	case strings.HasPrefix(call, "mount -o remount ") && at >= 0 && entry != "":
		live[at] = entry
	case strings.HasPrefix(call, "mount -t "):
		live = append(live, strings.Join([]string{onDisk, c.Argv[5], c.Argv[2], strings.TrimSuffix(c.Argv[4], ",rw")}, " "))
	case strings.HasPrefix(call, "mount -o remount,") && at >= 0:
		l := strings.Fields(live[at])
		l[3] = strings.TrimSuffix(strings.TrimPrefix(c.Argv[2], "remount,"), ",rw")
		live[at] = strings.Join(l, " ")
	default:
		k.t.Errorf("unexpected command: %s", call)
	}
	k.set(live)
	if k.mode != 0 && c.Argv[0] == "mount" {
		if err := os.Chmod(k.sys.Root+point, k.mode); err != nil {
			k.t.Error(err)
		}
	}
	return system.Output{}, nil
}

const rootFstab = "UUID=1 / ext4 defaults 0 1\n# end\n"
