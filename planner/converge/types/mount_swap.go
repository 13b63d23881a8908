package types

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// mountPoint is what a mount looks after: where something is mounted, or an area for swapping.
type mountPoint struct {
	path string
	swap string // the device or file of an area for swapping, as fstab names it, in place of a path
}

const swapType, swapsPath = "swap", "/proc/swaps"

// pointOf returns what r looks after.
func pointOf(r resource.Resource) mountPoint {
	if schema.IsSwap(r) {
		return mountPoint{swap: r.Parameters.String("device")}
	}
	return mountPoint{path: r.Title}
}

// point returns what the resource with a title looked after.
func (b *mountBefore) point(title string) mountPoint {
	if b.Swap != "" {
		return mountPoint{swap: b.Swap}
	}
	return mountPoint{path: title}
}

// find finds its lines in fstab.
func (m mountPoint) find() finder {
	if m.swap == "" {
		return findMount(m.path)
	}
	return fstab.find(func(e row) bool { return e["fstype"] == swapType && e["device"] == m.swap })
}

// live returns what is mounted, or the area for swapping that is in use; nil when nothing is.
func (m mountPoint) live(s *Session) (*mounted, error) {
	if m.swap == "" {
		return mountType{}.mounted(s, m.path)
	}
	content, err := s.ReadFile(swapsPath)
	if err != nil {
		return nil, err
	}
	device := m.device(s)
	for line := range strings.Lines(string(content)) {
		// Filename Type Size Used Priority
		if f := strings.Fields(line); len(f) == 5 && unescapeMount(f[0]) == device {
			out := &mounted{Source: device, FSType: swapType}
			if n, err := strconv.Atoi(f[4]); err == nil && n >= 0 { // else the kernel chose it
				out.Options = "pri=" + f[4]
			}
			return out, nil
		}
	}
	return nil, nil
}

// device returns the path of the area for swapping, without links, as the kernel has it.
func (m mountPoint) device(s *Session) string {
	file := m.swap
	for name, dir := range map[string]string{"UUID": "uuid", "LABEL": "label", "PARTUUID": "partuuid", "PARTLABEL": "partlabel"} {
		if value, ok := strings.CutPrefix(m.swap, name+"="); ok {
			file = "/dev/disk/by-" + dir + "/" + strings.Trim(value, `"`)
		}
	}
	return s.ResolveLinks(file, true)
}

// against returns the priority that an area for swapping has, and the one that options want, where these differ.
func (m mounted) againstSwap(options string) (is, should []string) {
	for o := range strings.SplitSeq(options, ",") {
		if strings.HasPrefix(o, "pri=") && o != m.Options {
			return []string{m.Options}, []string{o}
		}
	}
	return nil, nil
}

// swapOn has the kernel use the area, with the priority and the discards that options want.
func (m mountPoint) swapOn(ctx context.Context, s *Session, options string) error {
	argv := []string{"swapon"}
	for o := range strings.SplitSeq(options, ",") {
		if priority, ok := strings.CutPrefix(o, "pri="); ok {
			argv = append(argv, "-p", priority)
		}
		if policy, ok := strings.CutPrefix(o, "discard"); ok {
			argv = append(argv, "-d"+strings.TrimPrefix(policy, "="))
		}
	}
	there, err := s.Exists(m.device(s))
	if err == nil && !there {
		err = fmt.Errorf("it is not there; make it first, with mkswap, and require that")
	}
	if err == nil {
		err = mustRun(ctx, s, system.Command{Argv: append(argv, m.device(s))})
	}
	if err != nil {
		return fmt.Errorf("swap on %s: %w", m.swap, err)
	}
	return nil
}

// swapOff has the kernel leave the area: what is in it goes into memory.
func (m mountPoint) swapOff(ctx context.Context, s *Session) error {
	if err := mustRun(ctx, s, system.Command{Argv: []string{"swapoff", m.device(s)}}); err != nil {
		return fmt.Errorf("no swap on %s: %w", m.swap, err)
	}
	return nil
}
