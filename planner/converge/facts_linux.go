package converge

import (
	"encoding/binary"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// machineName returns the architecture as uname -m says it.
func machineName() string {
	var name unix.Utsname
	if unix.Uname(&name) != nil {
		return ""
	}
	return unix.ByteSliceToString(name.Machine[:])
}

// links asks the kernel for the interfaces and their addresses; what it does not say is missing. Package net would make
// the helper larger by a seventh.
func links() []link {
	var out []link
	index := map[int32]int{}
	each(unix.RTM_GETLINK, unix.RTM_NEWLINK, unix.SizeofIfInfomsg, func(head []byte, attributes map[uint16][]byte) {
		flags := binary.NativeEndian.Uint32(head[8:])
		_, made := attributes[unix.IFLA_LINKINFO]
		l := link{name: textOf(attributes[unix.IFLA_IFNAME]), loopback: flags&unix.IFF_LOOPBACK != 0, made: made}
		if address := attributes[unix.IFLA_ADDRESS]; len(address) == 6 {
			l.mac = hardwareAddress(address)
		}
		index[int32(binary.NativeEndian.Uint32(head[4:]))] = len(out)
		out = append(out, l)
	})
	each(unix.RTM_GETADDR, unix.RTM_NEWADDR, unix.SizeofIfAddrmsg, func(head []byte, attributes map[uint16][]byte) {
		at, there := index[int32(binary.NativeEndian.Uint32(head[4:]))]
		flags := uint32(head[2])
		if more := attributes[unix.IFA_FLAGS]; len(more) == 4 {
			flags = binary.NativeEndian.Uint32(more)
		}
		const passing = unix.IFA_F_TEMPORARY | unix.IFA_F_TENTATIVE | unix.IFA_F_DADFAILED | unix.IFA_F_DEPRECATED
		address, local := attributes[unix.IFA_ADDRESS], attributes[unix.IFA_LOCAL]
		if head[0] == unix.AF_INET && local != nil { // of a point-to-point link, the other is that of the peer
			address = local
		}
		// IFA_F_TEMPORARY is IFA_F_SECONDARY, too, which IPv4 has
		if head[0] == unix.AF_INET {
			flags &^= unix.IFA_F_SECONDARY
		}
		if there && (len(address) == 4 || len(address) == 16) && head[3] < unix.RT_SCOPE_LINK && flags&passing == 0 {
			out[at].addresses = append(out[at].addresses, address)
		}
	})
	return out
}

// each calls found for each answer of a kind to a question about interfaces: with its head, which has size bytes, and
// its attributes.
func each(question, kind uint16, size int, found func(head []byte, attributes map[uint16][]byte)) {
	table, err := syscall.NetlinkRIB(int(question), syscall.AF_UNSPEC)
	if err != nil {
		return
	}
	messages, err := syscall.ParseNetlinkMessage(table)
	if err != nil {
		return
	}
	for _, m := range messages {
		if m.Header.Type != kind || len(m.Data) < size {
			continue
		}
		list, err := syscall.ParseNetlinkRouteAttr(&m)
		if err != nil {
			continue
		}
		attributes := make(map[uint16][]byte, len(list))
		for _, a := range list {
			attributes[a.Attr.Type] = a.Value
		}
		found(m.Data[:size], attributes)
	}
}

func textOf(value []byte) string { return strings.TrimRight(string(value), "\x00") }

// hardwareAddress writes a hardware address.
func hardwareAddress(address []byte) string {
	parts := make([]string, len(address))
	for i, b := range address {
		parts[i] = hexadecimal(b)
	}
	return strings.Join(parts, ":")
}
