package resource

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
)

// Facts are what a node says of the machine that it is: what templates read as `facts`. A text that is empty, and a
// number that is 0, is not known. They come from the node, which is not trusted: see [Facts.Bounded]. They are not
// changed once they are made.
type Facts struct {
	OS           OS     `json:"os,omitzero"`
	Architecture string `json:"architecture,omitempty"` // as uname -m says it: x86_64, aarch64
	CPUs         int64  `json:"cpus,omitempty"`         // processors that are online
	MemoryMiB    int64  `json:"memory_mib,omitempty"`   // all of it, used or not
	Hostname     string `json:"hostname,omitempty"`     // without its domain
	FQDN         string `json:"fqdn,omitempty"`         // as the node's own hosts file knows it; no name server is asked
	Virtual      bool   `json:"virtual"`                // a virtual machine or a container
	// Virtualization is its kind, in the words of systemd-detect-virt: kvm, vmware, docker; empty where Virtual is false.
	Virtualization string `json:"virtualization,omitempty"`
	// ServiceProvider is what runs the services of the node, as the parameter provider of a service names it: systemd,
	// openrc or [NoServiceProvider].
	ServiceProvider string `json:"service_provider,omitempty"`
	// DefaultInterface is that of the default route, of IPv4 where there is one, and DefaultAddress its first address.
	DefaultInterface string `json:"default_interface,omitempty"`
	DefaultAddress   string `json:"default_address,omitempty"`
	// Interfaces are the network devices, and other interfaces with an address, by name: without the loopback interface.
	Interfaces map[string]Interface `json:"interfaces,omitempty"`
}

// NoServiceProvider says that no service manager that slipway knows runs the node: no guard can be armed there.
const NoServiceProvider = "none"

// OS is the operating system of a node, by the names that Puppet and Ansible give.
type OS struct {
	Family   string `json:"family,omitempty"`   // Debian, RedHat, Alpine
	Name     string `json:"name,omitempty"`     // Debian, Ubuntu, Rocky
	Release  string `json:"release,omitempty"`  // VERSION_ID of os-release: 12, 24.04, 9.4
	Codename string `json:"codename,omitempty"` // bookworm
}

// Interface is a network interface: its addresses are permanent ones of global scope, sorted, IPv4 first.
type Interface struct {
	MAC       string   `json:"mac,omitempty"`
	Addresses []string `json:"addresses,omitempty"`
}

// The bounds of facts: bytes of a text, interfaces of a node and addresses of an interface. What is more is left out.
const (
	FactLimit      = 128
	MostInterfaces = 32
	MostAddresses  = 16
)

// Bounded returns the facts without what exceeds the bounds and what no slipway sends. What is left consists of
// letters, digits, spaces and `._:+@-`: it means nothing to a shell, a terminal or a template.
func (f *Facts) Bounded() *Facts {
	if f == nil {
		return nil
	}
	out := *f
	for _, text := range []*string{&out.OS.Family, &out.OS.Name, &out.OS.Release, &out.OS.Codename, &out.Architecture,
		&out.Hostname, &out.FQDN, &out.Virtualization, &out.ServiceProvider, &out.DefaultInterface} {
		*text = plainFact(*text)
	}
	if a := address(out.DefaultAddress); a.IsValid() {
		out.DefaultAddress = a.String()
	} else {
		out.DefaultAddress = ""
	}
	out.CPUs, out.MemoryMiB = max(out.CPUs, 0), max(out.MemoryMiB, 0)
	out.Interfaces = nil
	for _, name := range slices.Sorted(maps.Keys(f.Interfaces)) {
		if len(out.Interfaces) == MostInterfaces {
			break
		}
		if name == "" || plainFact(name) == "" {
			continue
		}
		i := Interface{MAC: plainFact(f.Interfaces[name].MAC)}
		var addresses []netip.Addr
		for _, text := range f.Interfaces[name].Addresses {
			if a := address(text); a.IsValid() {
				addresses = append(addresses, a)
			}
		}
		slices.SortFunc(addresses, netip.Addr.Compare)
		for _, a := range addresses[:min(len(addresses), MostAddresses)] {
			i.Addresses = append(i.Addresses, a.String())
		}
		if out.Interfaces == nil {
			out.Interfaces = map[string]Interface{}
		}
		out.Interfaces[name] = i
	}
	return &out
}

// plainFact returns a text that a fact may be, else an empty one.
func plainFact(text string) string {
	for i := range len(text) {
		b := text[i]
		letter := 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9'
		if !letter && !strings.ContainsRune(" ._:+@-", rune(b)) {
			return ""
		}
	}
	if len(text) > FactLimit {
		return ""
	}
	return text
}

// address reads an IP address; what is none gives one that is not valid.
func address(text string) netip.Addr {
	a, _ := netip.ParseAddr(text)
	if a.Zone() != "" {
		return netip.Addr{}
	}
	return a.Unmap()
}

// Plain returns the facts by the names that users read them under, as nil, bool, int64, string, []any and
// map[string]any. What is not known is nil.
func (f *Facts) Plain() map[string]any {
	interfaces := make(map[string]any, len(f.Interfaces))
	for name, i := range f.Interfaces {
		addresses := make([]any, len(i.Addresses))
		for at, a := range i.Addresses {
			addresses[at] = a
		}
		interfaces[name] = map[string]any{"mac": known(i.MAC), "addresses": addresses}
	}
	return map[string]any{
		"os": map[string]any{"family": known(f.OS.Family), "name": known(f.OS.Name), "release": known(f.OS.Release),
			"codename": known(f.OS.Codename)},
		"architecture": known(f.Architecture), "cpus": known(f.CPUs), "memory_mib": known(f.MemoryMiB),
		"hostname": known(f.Hostname), "fqdn": known(f.FQDN), "virtual": f.Virtual,
		"virtualization": known(f.Virtualization), "default_interface": known(f.DefaultInterface),
		"service_provider": known(f.ServiceProvider), "default_address": known(f.DefaultAddress), "interfaces": interfaces,
	}
}

// known returns a value, nil for an empty one.
func known[T comparable](v T) any {
	var zero T
	if v == zero {
		return nil
	}
	return v
}
