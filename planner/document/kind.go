package document

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// Kind is the kind of a source, judged by its keys.
type Kind string

// The kinds of sources.
const (
	// The source is not well-formed, or has the keys of several kinds. The functions that read it report more.
	Unclear Kind = ""
	OfShow  Kind = "show" // what `terraform show -json` prints, or a plan file that Terraform must show first
	// what else [ParseSite] reads: site document, catalog, DeploymentStrategy, documents of other schemas.
	OfSite   Kind = "site"
	OfPlugin Kind = "plugin" // the document of a plugin, see [ParsePlugin]
	// an override, or the configuration under overrides, see [ParseLayer] and [ParseConfiguration].
	OfLayer Kind = "layer"
	NoKind  Kind = "none" // well formed, and none of these
)

// DescribesSite reports whether [ParseSite] reads sources of the kind.
func (k Kind) DescribesSite() bool { return k == OfShow || k == OfSite }

// telling returns the keys that identify a kind.
func telling() []tellingKeys {
	return []tellingKeys{
		{OfSite, "a site document", append(siteKeys(), inlineCatalog)},
		{OfSite, "a catalog", catalogKeys()},
		{OfPlugin, "the document of a plugin", []string{"tasks", "graph_tasks", "files", "version"}},
		{OfLayer, "a configuration or a layer", []string{"configuration", "configuration_options", "options", "merge"}},
	}
}

type tellingKeys struct {
	kind        Kind
	description string
	keys        []string
}

// shared are keys that documents of several kinds have.
var shared = []string{"name"}

// KindOf returns the kind of a source, and a phrase that says why: `is a site document (it has the key "nodes")`. In a
// stream, the first document with a kind decides. Nothing is checked. The phrase is empty for [Unclear]; it quotes
// keys, and no values except that of the key schema.
func KindOf(source Source) (kind Kind, is string) {
	data := bytes.TrimPrefix(source.Data, []byte("\ufeff"))
	switch {
	case isPlanFile(data):
		return OfShow, "is a plan file as Terraform writes it"
	case isShow(data):
		return OfShow, "is what `terraform show -json` prints (it has the key \"format_version\")"
	}
	kind, is = kindByKeys(source.Name, data)
	if file := filepath.Base(source.Name); (kind == NoKind || kind == Unclear) && slices.Contains(PluginFiles(), file) {
		return OfPlugin, "is called like a document of a plugin"
	}
	return kind, is
}

func kindByKeys(name string, data []byte) (kind Kind, is string) {
	r := &reader{file: name}
	documents := r.documents(data)
	if len(documents) == 0 && len(r.errs) == 0 {
		return NoKind, "is empty; where a command wrote it, look whether that command failed"
	}
	for _, d := range documents {
		k, described := r.kindOf(d)
		if k != Unclear && k != NoKind {
			return k, described
		}
		if kind == Unclear {
			kind, is = k, described
		}
	}
	return kind, is
}

// kindOf returns the kind of one document.
func (r *reader) kindOf(n *yaml.Node) (Kind, string) {
	switch n.Kind {
	case yaml.SequenceNode:
		return OfPlugin, "is the document of a plugin (it is a list)"
	case yaml.MappingNode:
	default:
		return NoKind, "is " + kind(n)
	}
	if schema := schemaOf(n); schema != "" {
		return OfSite, fmt.Sprintf("is a document of the schema %q", cut(schema, maxWord))
	}
	fs, ok := r.mapping(n, "")
	if !ok {
		return Unclear, ""
	}
	names := slices.DeleteFunc(fs.names(), func(name string) bool { return slices.Contains(shared, name) })
	if len(names) == 0 {
		return Unclear, ""
	}
	for _, name := range names {
		for _, t := range telling() {
			if slices.Contains(t.keys, name) {
				return t.kind, fmt.Sprintf("is %s (it has the key %q)", t.description, name)
			}
		}
	}
	for _, name := range names { // misspelt: the function that reads it names the right key
		for _, t := range telling() {
			if near := resource.Nearest(name, t.keys); near != "" {
				return t.kind, fmt.Sprintf("is perhaps %s (it has the key %q, which is near %q)", t.description, name, near)
			}
		}
	}
	return NoKind, "has the " + keysInWords(names)
}

// keysInWords lists the first of some keys.
func keysInWords(names []string) string {
	const most = 5
	quoted := make([]string, 0, most)
	for _, name := range names[:min(len(names), most)] {
		quoted = append(quoted, fmt.Sprintf("%q", cut(name, maxWord)))
	}
	out := "key " + quoted[0]
	if len(quoted) > 1 {
		out = "keys " + strings.Join(quoted, ", ")
	}
	if len(names) > most {
		out += " and more"
	}
	return out
}

// isPlanFile reports whether the data is a binary plan file of Terraform.
func isPlanFile(data []byte) bool { return bytes.HasPrefix(data, []byte("PK\x03\x04")) }
