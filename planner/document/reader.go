// Package document reads YAML documents (and JSON, which is YAML) into the planner's values. It reports all errors of
// a document together, each with file, line and column. It is pure: it gets the bytes and a name for them.
package document

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

const (
	// maxSize bounds a YAML document, in bytes. The worst document of that size, a list of single letters, takes
	// seconds and about 1 GB. A site may have many documents, and Terraform's JSON has its own bound.
	maxSize = 16 << 20
	// maxVisits bounds how many values are read in addition to the written ones, because nested aliases can expand to
	// billions.
	maxVisits = 1 << 18
	// visitsEach bounds how often a written value is read if there are no aliases.
	visitsEach = 8
	// maxErrors bounds the errors of one source. A long list of the same error would exhaust the memory.
	maxErrors = 1000
	// maxWord bounds one quotation from a document in an error, in bytes.
	maxWord = 1000
)

// reader walks the nodes of a document and collects errors. Its methods return false for an invalid value after they
// have reported it.
type reader struct {
	file     string
	converts bool // numbers, booleans and their texts are interchangeable, as in Terraform
	nulls    int  // null is a value at this many levels of parameters
	layer    *layerReader
	written  int // values in the source
	visits   int
	errs     invalid.Errors
	warnings invalid.Errors
	unused   map[string]int // what slipway does not use -> the warning that says so, in warnings

	fuel     bool // a list is the document of a Fuel plugin
	tolerant bool // an unknown key is a warning, as Fuel knows graph tasks with any

	live        bool // the value comes from Terraform itself: it may be unknown or null in part, and has no positions
	partly      bool // of what is live, parameters of configuration resources may stay unknown
	strict      bool // of what is live, null in a configuration is an error
	noNulls     bool // of what is live, a null element of a mapping is an error
	someUnknown bool // something that is live is unknown
}

// field is a key of a mapping with its value.
type field struct {
	name  string
	key   *yaml.Node
	value *yaml.Node
}

// fields are the keys of a mapping in document order, each once. Of duplicates the first counts.
type fields struct {
	list  []field
	index map[string]int
}

func (fs *fields) add(f field) {
	if fs.index == nil {
		fs.index = make(map[string]int)
	}
	if _, ok := fs.index[f.name]; !ok {
		fs.index[f.name] = len(fs.list)
		fs.list = append(fs.list, f)
	}
}

func (fs *fields) get(name string) (*yaml.Node, bool) {
	if i, ok := fs.index[name]; ok {
		return fs.list[i].value, true
	}
	return nil, false
}

func (fs *fields) names() []string {
	names := make([]string, len(fs.list))
	for i, f := range fs.list {
		names[i] = f.name
	}
	return names
}

// documents splits a stream at its `---` lines and returns the content of each document that is not empty.
func (r *reader) documents(data []byte) []*yaml.Node {
	if len(data) > maxSize {
		r.report(nil, "", Schema, "the document has %d bytes; %d is the most", len(data), maxSize)
		return nil
	}
	if p, ok := illegible(data); ok {
		p.File = r.file
		r.errs = append(r.errs, p)
		return nil
	}
	var out []*yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			p := malformed(err, data)
			p.File = r.file
			r.errs = append(r.errs, p)
			return nil
		}
		if document.Kind != yaml.DocumentNode || len(document.Content) == 0 {
			continue
		}
		content := document.Content[0]
		if content.ShortTag() == "!!null" {
			continue
		}
		r.duplicates(content, "", r.lastCounts(content))
		out = append(out, content)
	}
	return out
}

// lastCounts returns the rule for duplicate keys of a document, by the first key on the way to them: a document for
// Fuel or Airship was written for a reader for which the last one counts. What slipway takes of it decides more
// than that.
func (r *reader) lastCounts(content *yaml.Node) func(first string) bool {
	schema := schemaOf(content)
	fuels := r.fuel && (content.Kind == yaml.SequenceNode ||
		slices.Contains(PluginFiles(), filepath.Base(r.file)) && !isPlugin(content))
	return func(first string) bool {
		return fuels || schema == StrategySchema && first == "metadata" || schema != "" && schema != StrategySchema
	}
}

// duplicates reports duplicate keys of any mapping below n, because one of the two values would be lost silently: as an
// error, or as a warning where the last one counts. first is the first key on the way to n.
func (r *reader) duplicates(n *yaml.Node, first string, lastCounts func(first string) bool) {
	r.written++
	if n.Kind != yaml.MappingNode {
		for _, below := range n.Content {
			r.duplicates(below, first, lastCounts)
		}
		return
	}
	at := make(map[string]int, len(n.Content)/2)
	kept := n.Content[:0]
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		below := first
		if first == "" {
			below = key.Value
		}
		r.duplicates(key, below, lastCounts)
		r.duplicates(value, below, lastCounts)
		earlier, twice := at[key.Value]
		switch {
		case key.Kind != yaml.ScalarNode || !twice:
			if key.Kind == yaml.ScalarNode {
				at[key.Value] = len(kept)
			}
			kept = append(kept, key, value)
		case lastCounts(first):
			r.warn(key, "", Schema, "key %q is there twice, first at line %d; this one counts", key.Value, kept[earlier].Line)
			kept[earlier], kept[earlier+1] = key, value
		default:
			r.report(key, "", Schema, "key %q is there twice, first at line %d; keep one", key.Value, kept[earlier].Line)
		}
	}
	n.Content = kept
}

// resolve follows an alias. It returns nil when the visits of the document are used up, and for what is unknown.
func (r *reader) resolve(n *yaml.Node) *yaml.Node {
	if most := maxVisits + visitsEach*r.written; r.visits >= most && !r.converts { // Terraform's values have no aliases
		if r.visits == most {
			r.report(n, "", Schema, "the aliases of the document stand for more than %d values; write fewer", maxVisits)
		}
		r.visits = most + 1
		return nil
	}
	r.visits++
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	if r.isUnknown(n) {
		return nil
	}
	return n
}

// mapping returns the keys of a mapping, including those that `<<` merges. Its own keys win over merged ones, and
// earlier merged ones over later ones.
func (r *reader) mapping(n *yaml.Node, path string) (*fields, bool) {
	at := r.resolve(n)
	if at == nil {
		return nil, false
	}
	if at.Kind != yaml.MappingNode {
		r.wrongForm(n, at, path, "a mapping")
		return nil, false
	}
	fs := &fields{}
	return fs, r.collect(at, path, fs, 0)
}

// members returns the keys of a mapping that may be any. form is what to write, for the error of a layer.
func (r *reader) members(n *yaml.Node, path, form string) []field {
	if at := r.resolve(n); r.layer != nil && at != nil && at.Kind != yaml.MappingNode {
		r.wrongForm(n, at, path, "a mapping; write "+form)
		return nil
	}
	if at := r.resolve(n); r.live && at != nil && at.Kind != yaml.MappingNode {
		what, _, _ := strings.Cut(form, ":")
		r.wrongKind(n, at, path, "a mapping of "+what+"s")
		return nil
	}
	fs, ok := r.mapping(n, path)
	if !ok {
		return nil
	}
	return fs.list
}

// maxMerges bounds nested merges; a mapping can even merge itself.
const maxMerges = 16

// collect adds the keys of a mapping to fs, then the merged ones.
func (r *reader) collect(n *yaml.Node, path string, fs *fields, depth int) bool {
	if depth > maxMerges {
		r.report(n, path, Schema, "`<<` merges mappings more than %d levels deep, or a mapping into itself", maxMerges)
		return false
	}
	var merges []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := r.resolve(n.Content[i])
		if key == nil {
			return false
		}
		switch key.ShortTag() {
		case "!!merge":
			merges = append(merges, n.Content[i+1])
		case "!!str":
			if r.live && !r.strict && isNull(n.Content[i+1]) {
				continue
			}
			fs.add(field{key.Value, n.Content[i], n.Content[i+1]})
		default:
			r.report(n.Content[i], path, Schema, "a key is %s; keys must be text", kind(key))
			return false
		}
	}
	for _, m := range merges {
		if !r.merge(m, path, fs, depth+1) {
			return false
		}
	}
	return true
}

// merge adds the keys of a `<<`: those of a mapping, or of each mapping of a list.
func (r *reader) merge(n *yaml.Node, path string, fs *fields, depth int) bool {
	at := r.resolve(n)
	if at == nil {
		return false
	}
	sources := []*yaml.Node{n}
	if at.Kind == yaml.SequenceNode {
		sources = at.Content
	}
	for _, source := range sources {
		at := r.resolve(source)
		if at == nil {
			return false
		}
		if at.Kind != yaml.MappingNode {
			r.wrongKind(source, at, path, "a mapping to merge")
			return false
		}
		if !r.collect(at, path, fs, depth) {
			return false
		}
	}
	return true
}

// known reports keys of a mapping that are not among keys.
func (r *reader) known(fs *fields, path string, keys []key) {
	names := namesOf(keys)
	for _, f := range fs.list {
		if slices.Contains(names, f.name) {
			continue
		}
		if r.full() {
			return
		}
		hint := "known are " + strings.Join(names, ", ")
		if near := resource.Nearest(f.name, names); near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
		if r.tolerant {
			r.warn(f.key, path, invalid.NoEffect, "unknown key %q, which does nothing in Fuel either; %s", f.name, hint)
			continue
		}
		if r.live {
			r.report(f.key, join(path, f.name), Schema, "there is no such attribute; %s", hint)
			continue
		}
		r.report(f.key, path, Schema, "unknown key %q; %s", f.name, hint)
	}
}

// required returns the value of a required key.
func (r *reader) required(n *yaml.Node, fs *fields, path, name string) (*yaml.Node, bool) {
	if value, ok := fs.get(name); ok {
		return value, true
	}
	if r.live {
		r.report(n, join(path, name), invalid.MissingField, "is required")
		return nil, false
	}
	hint := ""
	if near := resource.Nearest(name, fs.names()); near != "" {
		hint = fmt.Sprintf("; is %q meant to be it?", near)
	}
	r.report(n, path, invalid.MissingField, "the key %q is missing%s", name, hint)
	return nil, false
}

// list returns the items of a list, or nil for another value.
func (r *reader) list(n *yaml.Node, path string) []*yaml.Node {
	at := r.resolve(n)
	if at == nil {
		return nil
	}
	if at.Kind != yaml.SequenceNode {
		r.wrongKind(n, at, path, "a list")
		return nil
	}
	return at.Content
}

// text returns a string.
func (r *reader) text(n *yaml.Node, path string) (string, bool) {
	at := r.resolve(n)
	if at == nil {
		return "", false
	}
	if r.converts && isScalar(at, "!!bool", "!!int", "!!float") {
		return at.Value, true
	}
	if at.Kind != yaml.ScalarNode || at.ShortTag() != "!!str" {
		want := "text"
		if at.Kind == yaml.ScalarNode && at.ShortTag() != "!!null" {
			want = fmt.Sprintf("text; write it in quotes, %q, if that is meant", at.Value)
		}
		r.wrongKind(n, at, path, want)
		return "", false
	}
	return at.Value, true
}

// texts returns a list of strings.
func (r *reader) texts(n *yaml.Node, path string) []string {
	items := r.list(n, path)
	out := make([]string, 0, len(items))
	for i, item := range items {
		if s, ok := r.text(item, index(path, i)); ok {
			out = append(out, s)
		}
	}
	return out
}

// boolean returns true or false.
func (r *reader) boolean(n *yaml.Node, path string) bool {
	at := r.resolve(n)
	if at == nil {
		return false
	}
	if r.converts && isScalar(at, "!!str") && (at.Value == "true" || at.Value == "false") {
		return at.Value == "true"
	}
	var value bool
	if at.Kind != yaml.ScalarNode || at.ShortTag() != "!!bool" || at.Decode(&value) != nil {
		want := "true or false"
		if r.layer != nil {
			want += " without quotes"
		}
		r.wrongForm(n, at, path, want)
		return false
	}
	return value
}

// oldBoolean is boolean with the words of YAML 1.1, in which yes, no, on and off are booleans too. Airship reads
// documents so.
func (r *reader) oldBoolean(n *yaml.Node, path string) bool {
	at := n
	if at.Kind == yaml.AliasNode {
		at = at.Alias
	}
	if at.Kind == yaml.ScalarNode && at.Style == 0 && at.ShortTag() == "!!str" {
		switch strings.ToLower(at.Value) {
		case "yes", "on":
			return true
		case "no", "off":
			return false
		}
	}
	return r.boolean(n, path)
}

// integer returns a whole number from 0 to most, and not above math.MaxInt32.
func (r *reader) integer(n *yaml.Node, path string, most int) (int, bool) {
	want := "a whole number, 0 or more"
	if most < math.MaxInt32 {
		want = fmt.Sprintf("a whole number from 0 to %d", most)
	}
	at := r.resolve(n)
	if at == nil {
		return 0, false
	}
	tag := at.ShortTag()
	if r.converts && isScalar(at, "!!str") {
		if _, err := strconv.Atoi(at.Value); err == nil {
			at, tag = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: at.Value}, "!!int"
		}
	}
	if at.Kind != yaml.ScalarNode || tag != "!!int" && tag != "!!float" {
		r.wrongKind(n, at, path, want)
		return 0, false
	}
	var value int
	if err := at.Decode(&value); err != nil || tag != "!!int" || value < 0 || value > most {
		r.report(n, path, Schema, "%s is not %s", at.Value, want)
		return 0, false
	}
	return value, true
}

func isScalar(n *yaml.Node, tags ...string) bool {
	return n.Kind == yaml.ScalarNode && slices.Contains(tags, n.ShortTag())
}

func (r *reader) wrongKind(n, at *yaml.Node, path, want string) {
	switch {
	case r.live && r.strict && isNull(at):
		r.report(n, path, invalid.NullValue, "is null; an override cannot take anything away, leave it out")
	case r.live && isNull(at):
		r.report(n, path, Schema, "is null; leave it out instead")
	case r.live:
		r.report(n, path, Schema, "is %s; write %s", kindInTerraform(at), inTerraform(want))
	default:
		r.report(n, path, Schema, "is %s, not %s", kind(at), want)
	}
}

// wrongForm is wrongKind with the code that a wrong structure of a layer has.
func (r *reader) wrongForm(n, at *yaml.Node, path, want string) {
	before := len(r.errs)
	r.wrongKind(n, at, path, want)
	if r.layer != nil && len(r.errs) > before {
		r.errs[before].Code = invalid.BadStructure
	}
}

// full reports whether no more errors are collected.
func (r *reader) full() bool { return len(r.errs) > maxErrors }

// report adds an error at the position of n. For an alias that is where the user wrote the alias.
func (r *reader) report(n *yaml.Node, path string, code invalid.Code, format string, args ...any) {
	if r.full() {
		return
	}
	p := r.at(n, path, code, format, args...)
	if len(r.errs) == maxErrors {
		p.Attribute, p.Code, p.Message = "", Schema, fmt.Sprintf(
			"there are more errors than %d; the others are reported when these are fixed", maxErrors)
	}
	r.errs = append(r.errs, p)
}

// warn is [reader.report] for a warning.
func (r *reader) warn(n *yaml.Node, path string, code invalid.Code, format string, args ...any) {
	if len(r.warnings) < maxErrors {
		r.warnings = append(r.warnings, r.at(n, path, code, format, args...))
		r.warnings[len(r.warnings)-1].Warning = true
	}
}

// ignore warns of what slipway does not do. of is where; all places with one reason make one warning.
func (r *reader) ignore(n *yaml.Node, path, reason, of string) {
	of = fmt.Sprintf("%q", cut(of, maxPathKey))
	if at, ok := r.unused[reason]; ok {
		if len(r.warnings[at].Message) < maxPath {
			r.warnings[at].Message += ", " + of
		}
		return
	}
	if r.unused == nil {
		r.unused = make(map[string]int)
	}
	if len(r.warnings) < maxErrors {
		r.unused[reason] = len(r.warnings)
	}
	r.warn(n, path, invalid.NoEffect, "%s: %s", reason, of)
}

// at returns an error with the position of n.
func (r *reader) at(n *yaml.Node, path string, code invalid.Code, format string, args ...any) invalid.Error {
	for i, a := range args {
		if s, ok := a.(string); ok {
			args[i] = cut(s, maxWord)
		}
	}
	p := invalid.Error{File: r.file, Attribute: path, Code: code, Message: fmt.Sprintf(format, args...)}
	if n != nil {
		p.Line, p.Column = n.Line, n.Column
	}
	return p
}

// kind names the kind of a value.
func kind(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	switch n.ShortTag() {
	case "!!null":
		return "nothing (null)"
	case "!!bool":
		return "true or false"
	case "!!int", "!!float":
		return "a number"
	case "!!str":
		return "text"
	case "!!timestamp":
		return "a date"
	}
	return "a value with the tag " + n.ShortTag()
}

// Schema is the code of a document with an invalid structure. A missing key has the code [invalid.MissingField].
const Schema invalid.Code = "schema"
