package document

import (
	"time"

	"gopkg.in/yaml.v3"
)

// key is a key that an object may have.
type key struct {
	name     string
	required bool
	read     func(n *yaml.Node, path string)
}

// object reads a mapping and reports unknown keys.
func (r *reader) object(n *yaml.Node, path string, keys ...key) {
	fs, ok := r.mapping(n, path)
	if !ok {
		return
	}
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.name
	}
	r.known(fs, path, names...)
	for _, k := range keys {
		value, ok := fs.get(k.name)
		switch {
		case ok:
			k.read(value, join(path, k.name))
		case k.required:
			r.required(n, fs, path, k.name)
		}
	}
}

// The functions below return the read function of a key, which stores the value.

func (r *reader) intoText(target *string) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) { *target, _ = r.text(n, path) }
}

// intoSecret is intoText for a text that no error may quote.
func (r *reader) intoSecret(target *string) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		at := r.resolve(n)
		switch {
		case at == nil:
		case r.converts && isScalar(at, "!!bool", "!!int", "!!float"), isScalar(at, "!!str"):
			*target = at.Value
		default:
			r.wrongKind(n, at, path, "text; write it in quotes")
		}
	}
}

func (r *reader) intoTexts(target *[]string) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) { *target = r.texts(n, path) }
}

func (r *reader) intoBoolean(target *bool) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) { *target = r.boolean(n, path) }
}

func (r *reader) intoFlag(target **bool) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		b := r.boolean(n, path)
		*target = &b
	}
}

func (r *reader) intoPort(target *int) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		port, ok := r.integer(n, path, 65535)
		if ok && port == 0 {
			r.report(n, path, Schema, "0 is not a port; give a number from 1 to 65535, or leave it out")
		}
		*target = port
	}
}

// intoDuration reads a positive duration. Zero is an error and does not mean "not set" (airship.md D-24).
func (r *reader) intoDuration(target *time.Duration) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		s, ok := r.text(n, path)
		if !ok {
			return
		}
		d, err := time.ParseDuration(s)
		switch {
		case err != nil:
			r.report(n, path, Schema, "%q is not a duration; write a number and a unit, such as 30s, 10m or 1h30m", s)
		case d <= 0:
			r.report(n, path, Schema, "%q is not above zero; leave it out for the default", s)
		}
		*target = d
	}
}

// intoTextMap reads a mapping of text to text.
func (r *reader) intoTextMap(target *map[string]string) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		fs, ok := r.mapping(n, path)
		if !ok {
			return
		}
		out := make(map[string]string, len(fs.list))
		for _, f := range fs.list {
			out[f.name], _ = r.text(f.value, keyed(path, f.name))
		}
		*target = out
	}
}
