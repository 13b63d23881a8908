package document

// Metadata is what slipway uses of a plugin's metadata.yaml (fuel.md A4).
type Metadata struct {
	Name    string
	Version string // may be empty
}

// ParseMetadata reads a plugin's metadata.yaml: name and version, if set. It ignores other keys. The error is of type
// [invalid.Errors].
func ParseMetadata(source Source) (Metadata, error) {
	var m Metadata
	r := reader{file: source.Name}
	if n, ok := r.only(source.Data, "a plugin's metadata have the key \"name\""); ok {
		if fs, ok := r.mapping(n, ""); ok {
			r.read(n, fs, "", key{"name", true, r.into(&m.Name)}, key{"version", false, r.into(&m.Version)})
		}
	}
	return m, r.result()
}
