package systemtest

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

// Kernel keeps account of mounts as the commands mount and umount change them, from the sandbox's own fstab.
type Kernel struct {
	t *testing.T
	*system.System
	Fail  string      // a command that begins with this fails
	Mode  fs.FileMode // of the root of what is mounted; 0: that of the directory
	Calls []string    // what was run
}

// NewKernel returns a node with an fstab and what is mounted, as Live lists it.
func NewKernel(t *testing.T, fstab string, live ...string) *Kernel {
	k := &Kernel{t: t}
	k.System = Machine(t, map[string]string{"etc/fstab": fstab, "proc/self/mountinfo": "", "mnt/": ""}, k.Run)
	k.Set(live)
	return k
}

// Live lists what is mounted: lines `point source type options`.
func (k *Kernel) Live() []string {
	content, err := os.ReadFile(k.Root + "/proc/self/mountinfo")
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

// Set replaces what is mounted.
func (k *Kernel) Set(live []string) {
	var b strings.Builder
	for i, l := range live {
		f := strings.Fields(l)
		fmt.Fprintf(&b, "%d 1 0:1 / %s %s - %s %s rw\n", i, f[0], f[3], f[2], f[1])
	}
	if err := os.WriteFile(k.Root+"/proc/self/mountinfo", []byte(b.String()), 0o644); err != nil {
		k.t.Fatal(err)
	}
}

// Run does what mount and umount do. Another command is an error of the test.
func (k *Kernel) Run(c system.Command) (system.Output, error) {
	call := strings.Join(c.Argv, " ")
	k.Calls = append(k.Calls, call)
	if k.Fail != "" && strings.HasPrefix(call, k.Fail) {
		return system.Output{Status: 32, Combined: "mount: refused\n"}, nil
	}
	live, point := k.Live(), c.Argv[len(c.Argv)-1]
	onDisk := point
	if name, err := filepath.EvalSymlinks(k.Root + point); err == nil {
		onDisk = strings.TrimPrefix(name, k.Root)
	}
	at := -1
	for i, l := range live {
		if strings.HasPrefix(l, onDisk+" ") {
			at = i
		}
	}
	entry := ""
	fstab, err := os.ReadFile(k.Root + "/etc/fstab")
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
	k.Set(live)
	if k.Mode != 0 && c.Argv[0] == "mount" {
		if err := os.Chmod(k.Root+point, k.Mode); err != nil {
			k.t.Error(err)
		}
	}
	return system.Output{}, nil
}

// RootFstab is the fstab of a node with nothing but its root.
const RootFstab = "UUID=1 / ext4 defaults 0 1\n# end\n"
