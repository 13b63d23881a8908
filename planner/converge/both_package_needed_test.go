package converge

// stanza writes one installed package.
func stanza(name, fields string) string {
	return "Package: " + name + "\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1\n" + fields + "\n"
}

const dpkgStanza = "Package: dpkg\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1.21\n\n"
