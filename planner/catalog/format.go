package catalog

import (
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// format is a form that a text can have. The type of that name is predefined.
type format struct {
	name  string
	types string // the validation types of Inmanta's catalogs that mean it, see [Validation]
	what  string // "an IPv4 address"
	holds func(string) bool
}

// formats is the table of formats (lsm.md 2). To add one, add its line here.
var formats = []format{
	{"ipv4_address", "ipaddress.IPv4Address", "an IPv4 address", address(isV4)},
	{"ipv6_address", "ipaddress.IPv6Address", "an IPv6 address", address(isV6)},
	{"ip_address", "pydantic.IPvAnyAddress", "an IP address", address(isAny)},
	{"ipv4_interface", "ipaddress.IPv4Interface", "an IPv4 address with its prefix, such as 10.0.0.1/24",
		network(isV4, true)},
	{"ipv6_interface", "ipaddress.IPv6Interface", "an IPv6 address with its prefix, such as fd00::1/64",
		network(isV6, true)},
	{"ip_interface", "pydantic.IPvAnyInterface", "an IP address with its prefix, such as 10.0.0.1/24",
		network(isAny, true)},
	{"ipv4_network", "ipaddress.IPv4Network", "an IPv4 network without host bits, such as 10.0.0.0/24",
		network(isV4, false)},
	{"ipv6_network", "ipaddress.IPv6Network", "an IPv6 network without host bits, such as fd00::/64",
		network(isV6, false)},
	{"ip_network", "pydantic.IPvAnyNetwork", "an IP network without host bits, such as 10.0.0.0/24",
		network(isAny, false)},
	{"mac_address", "", "a MAC address, such as 52:54:00:12:34:56",
		regexp.MustCompile(`^[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){5}$`).MatchString},
	{"hostname", "", "a host name", isHostname},
	{"email", "pydantic.EmailStr", "an e-mail address", isEmail},
	{"url", "pydantic.AnyUrl", "a URL", func(s string) bool { return isURL(s) }},
	{"http_url", "pydantic.AnyHttpUrl pydantic.HttpUrl", "an http or https URL",
		func(s string) bool { return isURL(s, "http", "https") }},
	{"uuid", "uuid.UUID", "a UUID", isUUID(0)},
	{"uuid1", "pydantic.UUID1", "a UUID of version 1", isUUID(1)},
	{"uuid3", "pydantic.UUID3", "a UUID of version 3", isUUID(3)},
	{"uuid4", "pydantic.UUID4", "a UUID of version 4", isUUID(4)},
	{"uuid5", "pydantic.UUID5", "a UUID of version 5", isUUID(5)},
	{"date", "datetime.date", "a date, such as 2026-01-31", layout("2006-01-02")},
	{"time", "datetime.time", "a time of day, such as 15:04:05",
		layout("15:04", "15:04Z07:00", "15:04:05", "15:04:05Z07:00")},
	{"datetime", "datetime.datetime", "a date and time, such as 2026-01-31T15:04:05Z", isDateTime},
	{"duration", "datetime.timedelta", "an ISO 8601 duration such as P1DT12H, or [days ]hh:mm:ss", isDuration},
}

func formatNamed(name string) (format, bool) {
	i := slices.IndexFunc(formats, func(f format) bool { return f.name == name })
	if i < 0 {
		return format{}, false
	}
	return formats[i], true
}

func isFormat(a any) bool {
	name, _ := a.(string)
	_, ok := formatNamed(name)
	return ok
}

func checkFormat(name, v string) string {
	f, ok := formatNamed(name)
	return when(!ok || !f.holds(v), "must be %s", f.what)
}

func isV4(a netip.Addr) bool  { return a.Is4() }
func isV6(a netip.Addr) bool  { return a.Is6() }
func isAny(a netip.Addr) bool { return a.IsValid() }

func address(family func(netip.Addr) bool) func(string) bool {
	return func(s string) bool {
		a, err := netip.ParseAddr(s)
		return err == nil && family(a)
	}
}

// network holds for an address with a prefix length, with an IPv4 netmask or hostmask instead, or alone, as Python's
// ipaddress has it. Without hosts every bit behind the prefix is zero.
func network(family func(netip.Addr) bool, hosts bool) func(string) bool {
	return func(s string) bool {
		text, mask, masked := strings.Cut(s, "/")
		a, err := netip.ParseAddr(text)
		if err != nil || !family(a) || a.Zone() != "" {
			return false
		}
		bits := a.BitLen()
		if masked {
			var ok bool
			if bits, ok = prefixLength(mask, a); !ok {
				return false
			}
		}
		p := netip.PrefixFrom(a, bits)
		return hosts || p.Masked().Addr() == a
	}
}

// prefixLength reads what stands behind the slash.
func prefixLength(mask string, a netip.Addr) (int, bool) {
	if mask != "" && !strings.ContainsFunc(mask, func(r rune) bool { return r < '0' || r > '9' }) {
		n, err := strconv.Atoi(mask)
		return n, err == nil && n <= a.BitLen()
	}
	m, err := netip.ParseAddr(mask)
	if err != nil || !m.Is4() || !a.Is4() {
		return 0, false
	}
	b := m.As4()
	n := uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
	for bits := range 33 {
		netmask := ^uint32(0) << (32 - bits)
		if n == netmask || n == ^netmask {
			return bits, true
		}
	}
	return 0, false
}

var hostLabel = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$`)

func isHostname(s string) bool {
	s = strings.TrimSuffix(s, ".")
	if s == "" || len(s) > nameLimit {
		return false
	}
	for _, label := range strings.Split(s, ".") {
		if !hostLabel.MatchString(label) {
			return false
		}
	}
	return true
}

var emailLocal = regexp.MustCompile("^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}$")

func isEmail(s string) bool {
	local, domain, found := strings.Cut(s, "@")
	return found && emailLocal.MatchString(local) && strings.Contains(domain, ".") && isHostname(domain)
}

func isURL(s string, schemes ...string) bool {
	u, err := url.Parse(s)
	return err == nil && u.Scheme != "" && u.Host != "" && (len(schemes) == 0 || slices.Contains(schemes, u.Scheme))
}

// isUUID holds for a UUID with or without its hyphens, braces and `urn:uuid:`, of a version when one is given.
func isUUID(version uuid.Version) func(string) bool {
	return func(s string) bool {
		s = strings.TrimPrefix(strings.ToLower(s), "urn:uuid:")
		if strings.HasPrefix(s, "{") && strings.HasSuffix(s, "}") {
			s = s[1 : len(s)-1]
		}
		u, err := uuid.Parse(s)
		return err == nil && (len(s) == 32 || len(s) == 36) && (version == 0 || u.Version() == version)
	}
}

func layout(layouts ...string) func(string) bool {
	return func(s string) bool {
		return slices.ContainsFunc(layouts, func(l string) bool {
			_, err := time.Parse(l, s)
			return err == nil
		})
	}
}

func isDateTime(s string) bool {
	const date = len("2006-01-02")
	if len(s) <= date || !strings.ContainsRune("Tt ", rune(s[date])) {
		return false
	}
	return layout("2006-01-02T15:04", "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05", "2006-01-02T15:04:05Z07:00")(
		s[:date] + "T" + strings.Replace(s[date+1:], "z", "Z", 1))
}

var (
	isoDuration   = regexp.MustCompile(`^[+-]?P(\d+W)?(\d+D)?(T(\d+H)?(\d+M)?(\d+(\.\d+)?S)?)?$`)
	clockDuration = regexp.MustCompile(`^[+-]?((\d+) ?(d|days?),? )?(\d+:)?\d+:\d+(\.\d+)?$`)
)

func isDuration(s string) bool {
	if strings.HasSuffix(s, "P") || strings.HasSuffix(s, "T") {
		return false // no part at all
	}
	return isoDuration.MatchString(s) || clockDuration.MatchString(s)
}
