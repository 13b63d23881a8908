package schema

import "strings"

// alphanumeric reports whether c is an ASCII letter or digit.
func alphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}

// spelled reports whether a name is of letters, digits and the other characters given, and begins with a letter, a
// digit or one of first.
func spelled(name, first, others string) bool {
	for i := range len(name) {
		c := name[i]
		if alphanumeric(c) || i == 0 && strings.IndexByte(first, c) >= 0 || i > 0 && strings.IndexByte(others, c) >= 0 {
			continue
		}
		return false
	}
	return name != ""
}

// IsAccountName accepts names of users and groups as shadow's tools do, at most 32 bytes.
func IsAccountName(name string) bool {
	plain := strings.TrimSuffix(name, "$")
	return spelled(plain, "_", "_.-") && len(plain) <= 31 && (plain[0] < '0' || plain[0] > '9')
}

// IsPackageName accepts a package's name, with an architecture where the package manager takes one: libc6:amd64.
func IsPackageName(name string) bool {
	name, architecture, qualified := strings.Cut(name, ":")
	return spelled(name, "", "+._-") && (!qualified || spelled(architecture, "", "-") &&
		architecture == strings.ToLower(architecture))
}

// IsPackageVersion accepts a package's version.
func IsPackageVersion(version string) bool { return spelled(version, "", ".+~:^_-") }

// IsServiceName accepts the name of a unit or init script.
func IsServiceName(name string) bool { return spelled(name, "_", `:_.\@-`) }
