package converge

import (
	"cmp"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// link is a network interface as the kernel has it, with the addresses that do not go by themselves.
type link struct {
	name, mac string
	loopback  bool
	made      bool     // by software, such as a bridge or one end of a tunnel
	addresses [][]byte // in the order of the kernel
}

// facts describes the node, by reading files and without running a command. The operating system and the service
// manager of a sandbox are those that the folder has, if any; all else is the machine's that the session runs on.
func facts(s *system.System) *resource.Facts {
	release, err := s.ReadFile("/etc/os-release")
	if err != nil {
		release, _ = s.ReadFile("/usr/lib/os-release")
	}
	f := gather("/", string(release), links())
	f.ServiceProvider = types.ServiceProvider(&types.Session{System: s})
	return f
}

// gather returns the facts of a machine whose files are below root. release is the os-release of the node, where it has
// one. They are not bounded yet.
func gather(root, release string, links []link) *resource.Facts {
	read := func(path string) string {
		file, err := os.Open(filepath.Join(root, path))
		if err != nil {
			return ""
		}
		defer func() { _ = file.Close() }() // it was only read
		content, _ := io.ReadAll(io.LimitReader(file, 16<<10))
		return string(content)
	}
	f := &resource.Facts{Architecture: machineName(), Interfaces: map[string]resource.Interface{}}
	f.OS = osOf(cmp.Or(release, read("/etc/os-release"), read("/usr/lib/os-release")))
	f.CPUs = members(read("/sys/devices/system/cpu/online"))
	f.MemoryMiB = int64(number(field(read("/proc/meminfo"), "MemTotal:"))) >> 10
	f.Hostname, f.FQDN = names(strings.TrimSpace(read("/proc/sys/kernel/hostname")), read("/etc/hosts"))
	f.Virtualization = virtualization(read)
	f.Virtual = f.Virtualization != ""
	gateway := defaultInterface(read)
	for _, l := range links {
		if l.loopback || l.made && len(l.addresses) == 0 {
			continue
		}
		if l.name == gateway {
			f.DefaultInterface = gateway
			for _, a := range l.addresses {
				if f.DefaultAddress == "" || len(a) == 4 && strings.Contains(f.DefaultAddress, ":") {
					f.DefaultAddress = spelled(a)
				}
			}
		}
		i := resource.Interface{MAC: l.mac}
		for _, a := range l.addresses {
			i.Addresses = append(i.Addresses, spelled(a))
		}
		f.Interfaces[l.name] = i
	}
	return f
}

// spelled writes an address in a form that [resource.Facts.Bounded] makes the usual one: package netip would make the
// helper larger by 100 KB.
func spelled(address []byte) string {
	var out strings.Builder
	for i, b := range address {
		switch {
		case len(address) == 4 && i > 0:
			out.WriteByte('.')
		case len(address) != 4 && i > 0 && i%2 == 0:
			out.WriteByte(':')
		}
		if len(address) == 4 {
			out.WriteString(strconv.Itoa(int(b)))
		} else {
			out.WriteString(hexadecimal(b))
		}
	}
	return out.String()
}

func hexadecimal(b byte) string {
	const digits = "0123456789abcdef"
	return string([]byte{digits[b>>4], digits[b&15]})
}

// systems are the names of operating systems and of their families, by ID of os-release.
var systems = [][3]string{{"debian", "Debian", "Debian"}, {"ubuntu", "Ubuntu", "Debian"},
	{"raspbian", "Raspbian", "Debian"}, {"rhel", "RedHat", "RedHat"}, {"centos", "CentOS", "RedHat"},
	{"rocky", "Rocky", "RedHat"}, {"almalinux", "AlmaLinux", "RedHat"}, {"fedora", "Fedora", "RedHat"},
	{"ol", "OracleLinux", "RedHat"}, {"amzn", "Amazon", "RedHat"}, {"alpine", "Alpine", "Alpine"},
	{"sles", "SLES", "Suse"}, {"suse", "SUSE", "Suse"}, {"arch", "Archlinux", "Archlinux"}}

// osOf reads an os-release. A system that is not in the table has its ID as its name, and the family of the first one
// that it says it is like, if any.
func osOf(release string) resource.OS {
	value := func(name string) string {
		for line := range strings.Lines(release) {
			if text, is := strings.CutPrefix(line, name+"="); is {
				return strings.Trim(strings.TrimSpace(text), `"'`)
			}
		}
		return ""
	}
	id := value("ID")
	out := resource.OS{Release: value("VERSION_ID"), Codename: value("VERSION_CODENAME")}
	for _, like := range append([]string{id}, strings.Fields(value("ID_LIKE"))...) {
		for _, s := range systems {
			if s[0] == like {
				out.Family = cmp.Or(out.Family, s[2])
				if like == id {
					out.Name = s[1]
				}
			}
		}
	}
	out.Name = cmp.Or(out.Name, id)
	return out
}

// field returns the first word behind a word that a line begins with.
func field(text, word string) string {
	for line := range strings.Lines(text) {
		if words := strings.Fields(line); len(words) > 1 && words[0] == word {
			return words[1]
		}
	}
	return ""
}

func number(text string) uint64 {
	n, _ := strconv.ParseUint(text, 10, 62)
	return n
}

// members counts a list of the kernel: `0-3,8`.
func members(list string) int64 {
	var out uint64
	for part := range strings.SplitSeq(strings.TrimSpace(list), ",") {
		first, last, isRange := strings.Cut(part, "-")
		switch a, b := number(first), number(last); {
		case isRange && b >= a && b < 1<<20:
			out += b - a + 1
		case first != "" && !isRange:
			out++
		}
	}
	return int64(out)
}

// names returns the name of a machine without its domain, and with it: as the machine is called itself, or as the hosts
// file says that this name is written in full.
func names(host, hosts string) (short, full string) {
	short, domain, _ := strings.Cut(host, ".")
	if domain != "" {
		return short, host
	}
	for line := range strings.Lines(hosts) {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) < 2 || !slices.Contains(words[1:], host) {
			continue
		}
		for _, word := range words[1:] {
			if strings.HasPrefix(word, host+".") {
				return short, word
			}
		}
	}
	return short, ""
}

// vendors are what the firmware of virtual machines says of who made it, and the names of systemd-detect-virt.
var vendors = [][2]string{{"KVM", "kvm"}, {"OpenStack", "kvm"}, {"KubeVirt", "kvm"}, {"Amazon EC2", "amazon"},
	{"QEMU", "qemu"}, {"VMware", "vmware"}, {"VMW", "vmware"}, {"innotek GmbH", "oracle"}, {"VirtualBox", "oracle"},
	{"Xen", "xen"}, {"Bochs", "bochs"}, {"Parallels", "parallels"}, {"BHYVE", "bhyve"}, {"Hyper-V", "microsoft"},
	{"Apple Virtualization", "apple"}, {"Google Compute Engine", "google"}}

// virtualization returns what a machine runs in, empty for a physical one. It looks where systemd-detect-virt does, but
// for instructions of the processor. A physical machine of a cloud has the vendor of its virtual ones, and no flag of
// the processor that says that there is a hypervisor.
func virtualization(read func(path string) string) string {
	container := strings.TrimSpace(read("/run/systemd/container"))
	for variable := range strings.SplitSeq(read("/proc/1/environ"), "\x00") {
		if value, is := strings.CutPrefix(variable, "container="); is {
			container = cmp.Or(container, value)
		}
	}
	if container != "" {
		return container
	}
	cpu := read("/proc/cpuinfo")
	flagged := slices.Contains(strings.Fields(cpu), "hypervisor")
	if !flagged && strings.Contains(cpu, "vendor_id") { // processors of other architectures have no such flag
		return ""
	}
	for _, of := range []string{"product_name", "sys_vendor", "board_vendor", "bios_vendor", "product_version"} {
		text := read("/sys/class/dmi/id/" + of)
		for _, v := range vendors {
			if strings.HasPrefix(text, v[0]) {
				return v[1]
			}
		}
	}
	if kind := strings.TrimSpace(read("/sys/hypervisor/type")); kind != "" {
		return kind
	}
	if flagged {
		return "vm-other"
	}
	return ""
}

// defaultInterface returns the interface of the default route with the lowest metric, of IPv4 where there is one.
func defaultInterface(read func(path string) string) string {
	const up, reject = 1, 0x200 // flags of a route
	best, lowest := "", uint64(0)
	look := func(table string, name, flags, metric, base int, is func(words []string) bool) {
		for line := range strings.Lines(read(table)) {
			words := strings.Fields(line)
			if len(words) <= max(name, flags, metric) || !is(words) {
				continue
			}
			set, err := strconv.ParseUint(words[flags], 16, 32)
			cost, wrong := strconv.ParseUint(words[metric], base, 32)
			if err == nil && wrong == nil && set&up != 0 && set&reject == 0 && (best == "" || cost < lowest) {
				best, lowest = words[name], cost
			}
		}
	}
	look("/proc/net/route", 0, 3, 6, 10, func(w []string) bool {
		return len(w) > 7 && w[1] == "00000000" && w[7] == "00000000"
	})
	if best == "" {
		zero := strings.Repeat("0", 32)
		look("/proc/net/ipv6_route", 9, 8, 5, 16, func(w []string) bool {
			return w[0] == zero && w[1] == "00" && w[9] != "lo"
		})
	}
	return best
}
