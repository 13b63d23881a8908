package schema

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// Host declares the type host.
func Host() resource.Schema {
	return resource.Schema{
		Type:       "host",
		Summary:    "A line of /etc/hosts; the title is the canonical name. Of several lines of the name with an IPv4 address, or with an IPv6 address when ip is one, the first remains.",
		Restorable: true,
		Parameters: []resource.Parameter{
			{Name: "ensure", Kind: resource.String, Values: []string{"present", "absent"},
				Description: "Whether the name is there. Default: present."},
			{Name: "ip", Kind: resource.String, Check: checkAddress,
				Description: "The IPv4 or IPv6 address. Required unless the name is to be absent."},
			{Name: "host_aliases", Kind: resource.StringList, Check: checkHostNames,
				Description: "Further names of the host. Default: those that are there."},
			{Name: "comment", Kind: resource.String, Check: checkOneLine,
				Description: "A comment at the end of the line. Default: the one that is there."},
		},
		Check: func(r resource.Resource) []invalid.Error {
			if errs := errorOf("title", CheckHostName(r.Title)); errs != nil {
				return errs
			}
			return neededUnlessAbsent(r, "ip")
		},
		Alike:  ensureAlike("present", nil),
		Target: hostTarget,
	}
}

// WantsAbsent reports whether r has ensure = absent.
func WantsAbsent(r resource.Resource) bool { return r.Parameters.String("ensure") == "absent" }

func checkAddress(value any) error {
	text, _ := value.(string)
	if _, err := netip.ParseAddr(text); err != nil {
		return fmt.Errorf("%q is not an IPv4 or IPv6 address", text)
	}
	return nil
}

func checkHostNames(value any) error {
	names, _ := value.([]string)
	for _, name := range names {
		if err := CheckHostName(name); err != nil {
			return err
		}
	}
	return nil
}

// CheckHostName refuses what is no host name.
func CheckHostName(name string) error {
	if name == "" || strings.ContainsFunc(name, func(r rune) bool {
		return r != '.' && r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) {
		return fmt.Errorf("%q is not a host name; use letters, digits, dots, hyphens and underscores", name)
	}
	return nil
}

// checkOneLine refuses what would break a file of lines.
func checkOneLine(value any) error {
	if text, _ := value.(string); strings.ContainsAny(text, "\n\r\x00") {
		return resource.Rule("contains a line break or a NUL; it must be one line of text")
	}
	return nil
}

const ipv4 = "IPv4"

const ipv6 = "IPv6"

// FamilyOf returns the family of an address.
func FamilyOf(ip string) string {
	if strings.Contains(ip, ":") {
		return ipv6
	}
	return ipv4
}

// HostFamily returns the family of a resource's address, empty for one that is to be absent.
func HostFamily(r resource.Resource) string {
	if WantsAbsent(r) {
		return ""
	}
	return FamilyOf(r.Parameters.String("ip"))
}

// hostTarget is the host name, in lower case. A resource that turns to the other family, or to absent, brings what it
// changed back first.
func hostTarget(r resource.Resource) (name, aim string) {
	aim = HostFamily(r)
	switch {
	case WantsAbsent(r):
		aim = "absent"
	case aim == ipv4:
		aim = "" // as ledgers have it that know no families
	}
	return strings.ToLower(r.Title), aim
}
