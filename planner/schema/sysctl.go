package schema

import (
	"errors"
	"fmt"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

const procSys = "/proc/sys"

// Sysctl declares the type sysctl.
func Sysctl() resource.Schema {
	return resource.Schema{
		Type:         "sysctl",
		Summary:      "A kernel parameter, now and at boot; the title is its name, such as net.ipv4.ip_forward.",
		NeedsMachine: true,
		Restorable:   true,
		Parameters: []resource.Parameter{
			{Name: "value", Kind: resource.String, Scalars: true, Required: true, Check: checkSysctlValue,
				Description: "The value. Blanks between several numbers count as equal, however many."},
			{Name: "persist", Kind: resource.Bool,
				Description: "Whether a file in /etc/sysctl.d sets it at boot too. A file that `sysctl --system` reads later and that sets another value is an error. Default: true."},
		},
		Check: func(r resource.Resource) []invalid.Error {
			_, err := SysctlPath(r.Title)
			return errorOf("title", err)
		},
		Target: sysctlTarget,
	}
}

func checkSysctlValue(value any) error {
	if text, _ := value.(string); strings.TrimSpace(text) == "" {
		return errors.New("must not be empty")
	}
	return checkOneLine(value)
}

// SysctlPath returns the file of a key. Where the first separator is a dot, dots separate and a slash stands for a dot
// in a name (net.ipv4.conf.eth0/100.forwarding), as in sysctl(8); where it is a slash, it is the other way around.
func SysctlPath(key string) (string, error) {
	file := key
	if i := strings.IndexAny(key, "./"); i >= 0 && key[i] == '.' {
		file = strings.Map(func(r rune) rune {
			switch r {
			case '.':
				return '/'
			case '/':
				return '.'
			}
			return r
		}, key)
	}
	valid := strings.Contains(file, "/")
	for part := range strings.SplitSeq(file, "/") {
		valid = valid && part != "" && part != "." && part != ".." && !strings.ContainsFunc(part, func(r rune) bool {
			return r <= ' ' || r == '=' || r == '#' || r == ';' || r == '*' || r == '?' || r >= 0x7f
		})
	}
	if !valid {
		return "", fmt.Errorf("%q is not the name of a kernel parameter, such as net.ipv4.ip_forward", key)
	}
	return procSys + "/" + file, nil
}

// sysctlTarget is the parameter, however its name is spelled; the spelling is in the name of the file that sets it at
// boot.
func sysctlTarget(r resource.Resource) (name, aim string) {
	file, _ := SysctlPath(r.Title) // the title passed its check
	return file, r.Title
}
