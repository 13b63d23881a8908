// Package enroll reads what other tools know of machines, Ansible inventories, OpenSSH configurations and Airship
// BaremetalNode documents, into nodes of a site, and writes nodes as an Ansible inventory. It is pure: it gets the
// bytes and a name for them. Nothing is left out without a warning that names it, and no secret is in what it returns.
package enroll

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// Bounds of what is read.
const (
	maxSize   = 16 << 20     // bytes of a source
	maxNodes  = 100_000      // of all sources
	maxDepth  = 64           // of groups in groups
	maxVisits = 4 * maxNodes // mappings and hosts of an inventory, counting aliases and what ranges stand for
	maxSSH    = 5000         // machines of OpenSSH configurations: each is compared with all Host lines
	maxJumps  = 64           // jump hosts that are looked up for one machine
)

// Source is what one file has, with the name that the file has in errors.
type Source struct {
	Name string
	Data []byte
}

// withoutMark returns the source without a byte order mark.
func (s Source) withoutMark() Source {
	return Source{s.Name, bytes.TrimPrefix(s.Data, []byte("\ufeff"))}
}

// IsInventory reports whether a source is read as an Ansible inventory, which alone has [Variables].
func IsInventory(s Source) bool {
	kind, _ := (&reader{}).kindOf(s.withoutMark())
	return kind == ofINI || kind == ofTree
}

// Variables are those of a file in the folder group_vars or host_vars beside an inventory.
type Variables struct {
	Source
	Of    string // the group or the host
	Group bool
}

// Options say what to take.
type Options struct {
	Only    []string // names of nodes, or patterns of them with * and ?; empty: all
	Network string   // of Airship: the network whose address counts; empty: primary_network of node or host profile
}

// Result is what was read.
type Result struct {
	Nodes    []site.Node // in the order of the sources
	Warnings invalid.Errors
}

// position is where something is written.
type position struct {
	file         string
	line, column int
}

// found is a node with its position.
type found struct {
	site.Node
	at position
}

// reader collects nodes, errors and warnings.
type reader struct {
	errs, warnings invalid.Errors
	nodes          []found
	options        Options
	reasons        map[invalid.Error]*shared
	order          []invalid.Error
}

// shared is a warning that concerns several hosts.
type shared struct {
	hosts []string
	known map[string]bool
}

// Read reads nodes. A source is an Ansible inventory (INI, YAML, or JSON as `ansible-inventory --list` and inventory
// scripts print it), an OpenSSH configuration, or a stream of Airship documents. All inventories are read as one, as
// Ansible does; so are all configurations of OpenSSH, where the first value counts. The error is of type
// [invalid.Errors].
func Read(sources []Source, beside []Variables, o Options) (*Result, error) {
	r := &reader{options: o, reasons: make(map[invalid.Error]*shared)}
	inventory := newInventory(r)
	ssh := &sshReader{reader: r}
	airship := &airshipReader{reader: r}
	for _, s := range sources {
		s = s.withoutMark()
		at := position{file: s.Name}
		switch kind, documents := r.kindOf(s); kind {
		case ofINI:
			inventory.ini(s)
		case ofTree:
			inventory.tree(s.Name, documents)
		case ofSSH:
			ssh.read(s)
		case ofAirship:
			airship.read(s.Name, documents)
		case "":
		default:
			r.report(at, "", "", "", "%s", kind)
		}
	}
	for _, v := range beside {
		inventory.beside(v)
	}
	inventory.check()
	if len(r.errs) == 0 {
		inventory.enroll()
		ssh.enroll()
		airship.enroll()
	}
	return r.result()
}

// result checks the names of the nodes, takes those that the options name, and sorts the warnings by position.
func (r *reader) result() (*Result, error) {
	first := make(map[string]position)
	out := &Result{}
	used := make(map[string]bool)
	for _, n := range r.nodes {
		if len(r.options.Only) > 0 && !slices.ContainsFunc(r.options.Only, func(pattern string) bool {
			ok, err := path.Match(pattern, n.Name)
			used[pattern] = used[pattern] || ok && err == nil
			return ok && err == nil
		}) {
			continue
		}
		if m := site.CheckFileName(n.Name); m != "" {
			r.report(n.at, "", "", "", "%s: name the host so, and give its address beside it", m)
			continue
		}
		if at, twice := first[n.Name]; twice {
			r.report(n.at, "node", n.Name, "", "is also in %s:%d; give it once, or read the files one after the other", at.file, at.line)
			continue
		}
		first[n.Name] = n.at
		out.Nodes = append(out.Nodes, n.Node)
	}
	for _, pattern := range r.options.Only {
		if !used[pattern] && len(r.errs) == 0 {
			r.errs = append(r.errs, invalid.Error{Code: invalid.NoNodes,
				Message: fmt.Sprintf("--only %s: there is no such node", pattern)})
		}
	}
	if len(r.errs) == 0 && len(out.Nodes) == 0 {
		r.errs = append(r.errs, invalid.Error{Code: invalid.NoNodes, Message: "the files name no machine"})
	}
	if len(r.errs) > 0 {
		r.errs.SortByPosition(nil)
		return nil, r.errs
	}
	for _, reason := range r.order {
		reason.Message += " (" + some(r.reasons[reason].hosts) + ")"
		r.warnings = append(r.warnings, reason)
	}
	r.warnings.SortByPosition(nil)
	out.Warnings = r.warnings
	return out, nil
}

// some lists up to ten names of hosts.
func some(hosts []string) string {
	const most = 10
	text := "host " + hosts[0]
	if len(hosts) > 1 {
		text = "hosts " + strings.Join(hosts[:min(len(hosts), most)], ", ")
	}
	if more := len(hosts) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// report adds an error, of an object if there is one.
func (r *reader) report(at position, object, name, attribute, format string, args ...any) {
	const most = 100
	if len(r.errs) < most {
		r.errs = append(r.errs, at.error(object, name, attribute, fmt.Sprintf(format, args...)))
	}
}

func (at position) error(object, name, attribute, message string) invalid.Error {
	return invalid.Error{File: at.file, Line: at.line, Column: at.column, Object: object, Name: name,
		Attribute: attribute, Code: invalid.BadValue, Message: message}
}

// warn adds a warning about a host. One for several hosts is shown once, with their names.
func (r *reader) warn(at position, object, name, attribute, host, message string) {
	if object == "host" && host != "" {
		object, name = "", "" // the hosts are named at the end: a line may stand for many
	}
	w := at.error(object, name, attribute, message)
	w.Warning, w.Code = true, invalid.NoEffect
	if host == "" {
		if !slices.Contains(r.warnings, w) {
			r.warnings = append(r.warnings, w)
		}
		return
	}
	s, known := r.reasons[w]
	if !known {
		s = &shared{known: make(map[string]bool)}
		r.reasons[w], r.order = s, append(r.order, w)
	}
	if !s.known[host] {
		s.known[host], s.hosts = true, append(s.hosts, host)
	}
}

// add adds a node.
func (r *reader) add(n site.Node, at position) {
	if len(r.nodes) == maxNodes {
		r.report(at, "", "", "", "there are more machines than %d; enrol them in parts", maxNodes)
	}
	if len(r.nodes) <= maxNodes {
		r.nodes = append(r.nodes, found{n, at})
	}
}

// The kinds of sources; another text says why a source is none.
const (
	ofINI     = "ini"
	ofTree    = "tree" // YAML or JSON
	ofSSH     = "ssh"
	ofAirship = "airship"
)

var (
	sshHost = regexp.MustCompile(`(?mi)^[ \t]*(Host|Match|Include)([ \t]+|[ \t]*=[ \t]*)"?[^\s=]`)
	iniPart = regexp.MustCompile(`(?m)^[ \t]*\[[^\]\n]+\][ \t]*([#;].*)?$`)
	yamlTop = regexp.MustCompile(`(?m)^(---|"?[A-Za-z_][\w.-]*"?:([ \t]|$))`)
)

// kindOf returns the kind of a source, and its documents if they are YAML or JSON. Of a source that it reports itself
// the kind is empty.
func (r *reader) kindOf(s Source) (kind string, documents []*yaml.Node) {
	text := bytes.TrimSpace(s.Data)
	ext := strings.ToLower(filepath.Ext(s.Name))
	switch {
	case len(s.Data) > maxSize:
		return fmt.Sprintf("has %d bytes; %d is the most", len(s.Data), maxSize), nil
	case len(text) == 0:
		return "is empty; where a command wrote it, look whether that command failed", nil
	case bytes.IndexByte(text, 0) >= 0:
		return "is no text; give an Ansible inventory, an OpenSSH configuration or Airship documents", nil
	case bytes.HasPrefix(text, []byte("#!")) && !iniPart.Match(text) && !yamlTop.Match(text):
		return "is a script; give what it prints with --list, on standard input for example", nil
	case isVault(string(text)):
		return "is encrypted with Ansible Vault; decrypt it, or give what `ansible-inventory --list` prints", nil
	case ext == ".ini":
		return ofINI, nil
	case iniPart.Match(text) && !yamlTop.Match(text) && text[0] != '{':
		return ofINI, nil
	case ext != ".yml" && ext != ".yaml" && ext != ".json" && text[0] != '{' && sshHost.Match(text):
		return ofSSH, nil
	case ext == ".yml" || ext == ".yaml" || ext == ".json" || text[0] == '{' || yamlTop.Match(text):
		return r.documents(s)
	}
	return ofINI, nil
}

// documents parses YAML.
func (r *reader) documents(s Source) (kind string, documents []*yaml.Node) {
	decoder := yaml.NewDecoder(bytes.NewReader(s.Data))
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if err != nil && err.Error() == "EOF" {
			break
		}
		if err != nil {
			r.malformed(s.Name, err)
			return "", nil
		}
		if content := document.Content; len(content) > 0 && content[0].ShortTag() != "!!null" {
			documents = append(documents, content[0])
		}
	}
	kind = ofTree
	for _, d := range documents {
		if d.Kind != yaml.MappingNode {
			return "is a list or a text; an Ansible inventory is a mapping of groups", nil
		}
		if text(member(d, "schema")) != "" {
			kind = ofAirship
		}
	}
	if len(documents) == 0 {
		return "is empty; where a command wrote it, look whether that command failed", nil
	}
	return kind, documents
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)`)

func (r *reader) malformed(file string, err error) {
	at, message := position{file: file}, err.Error()
	if m := yamlLine.FindStringSubmatch(message); m != nil {
		message = m[2]
		_, _ = fmt.Sscan(m[1], &at.line) // without a line it stays 0
	}
	r.report(at, "", "", "", "not well formed: %s", message)
}

// follow returns what an alias stands for.
func follow(n *yaml.Node) *yaml.Node {
	if n != nil && n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// member returns a member of a mapping, nil when there is none.
func member(n *yaml.Node, name string) *yaml.Node {
	if n = follow(n); n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return follow(n.Content[i+1])
		}
	}
	return nil
}

// items returns the elements of a list.
func items(n *yaml.Node) []*yaml.Node {
	if n = follow(n); n == nil || n.Kind != yaml.SequenceNode {
		return nil
	}
	return n.Content
}

// text returns a scalar that is not null as it is written, else nothing.
func text(n *yaml.Node) string {
	if n = follow(n); n == nil || n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" {
		return ""
	}
	return n.Value
}

func at(file string, n *yaml.Node) position { return position{file, n.Line, n.Column} }

// addTags adds tags that are not there yet.
func addTags(n *site.Node, tags ...string) {
	for _, tag := range tags {
		if tag = strings.TrimSpace(tag); tag != "" && !slices.Contains(n.Tags, tag) {
			n.Tags = append(n.Tags, tag)
		}
	}
}

// addLabel adds a label, or returns why it can be none.
func addLabel(n *site.Node, key, value string) (reason string) {
	switch {
	case value == "":
		return "is empty, which no label is; it is left out"
	case strings.Contains(value, "\n"):
		return "has several lines, which no label has; it is left out"
	case strings.Contains(key+value, ":"):
		return "has a colon, which no label has; it is left out"
	case strings.TrimSpace(value) != value || strings.TrimSpace(key) != key:
		return "begins or ends with white space, which no label does; it is left out"
	}
	labels := maps.Clone(n.Labels)
	if labels == nil {
		labels = make(map[string]string)
	}
	labels[key] = value
	n.Labels = labels
	return ""
}
