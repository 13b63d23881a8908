package types

import (
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// iniPlace finds and changes its setting in the lines of a file.
type iniPlace struct{ schema.IniPlace }

// iniSection is the lines of a section after its header.
type iniSection struct {
	header int // -1 for the settings before the first section
	span
}

// sections returns the sections that have the name, in order.
func (p iniPlace) sections(l lines) []iniSection {
	var out []iniSection
	name, from := "", 0
	header := -1
	for i := range len(l) + 1 {
		next, isHeader := "", i == len(l)
		if !isHeader {
			next, isHeader = p.Header(l[i].text)
		}
		if !isHeader {
			continue
		}
		if name == p.Section && (header >= 0) == (p.Section != "") {
			out = append(out, iniSection{header, span{from, i}})
		}
		name, header, from = next, i, i+1
	}
	return out
}

// value finds the value of the setting in a line: text[from:to], without the blanks around it.
func (p iniPlace) value(text string) (from, to int, ok bool) {
	start := len(text) - len(strings.TrimLeft(text, schema.IniBlanks))
	rest, ok := strings.CutPrefix(text[start:], p.Setting)
	if !ok {
		return 0, 0, false
	}
	after := strings.TrimLeft(rest, schema.IniBlanks)
	if separator := strings.Trim(p.Separator, schema.IniBlanks); separator != "" {
		after, ok = strings.CutPrefix(after, separator)
		after = strings.TrimLeft(after, schema.IniBlanks)
	} else {
		ok = rest == "" || len(after) < len(rest)
	}
	if !ok {
		return 0, 0, false
	}
	from = len(text) - len(after)
	return from, from + len(strings.TrimRight(after, schema.IniBlanks+"\r")), true
}

// find finds the lines of the setting.
func (p iniPlace) find(l lines) []span {
	var out []span
	for _, s := range p.sections(l) {
		for i := s.from; i < s.to; i++ {
			if _, _, ok := p.value(l[i].text); ok {
				out = append(out, span{i, i + 1})
			}
		}
	}
	return out
}

// values returns the value in each line of the setting.
func (p iniPlace) values(l lines) []string {
	var out []string
	for _, x := range p.find(l) {
		text := l[x.from].text
		from, to, _ := p.value(text)
		out = append(out, text[from:to])
	}
	return out
}

// set gives the setting a value: in the first line that it has, of which it keeps no other, because parsers differ in
// which of them counts; or in a new line after the last one that is commented out, else at the end of its section,
// which is made at the end of the file when there is none.
func (p iniPlace) set(l lines, value string) lines {
	if found := p.find(l); len(found) > 0 {
		for _, x := range slices.Backward(found[1:]) {
			l = l.remove(x)
		}
		x := found[0]
		text := l[x.from].text
		from, to, _ := p.value(text)
		switch {
		case text[from:to] == value:
		case from == to: // there may be no blank after the separator
			indent := text[:strings.Index(text, p.Setting)]
			l = l.replace(x, indent+p.Setting+p.Separator+value)
		default:
			l = l.replace(x, text[:from]+value+text[to:])
		}
		return l
	}
	added := p.Setting + p.Separator + value
	if s := p.sections(l); len(s) > 0 {
		for i := range slices.Backward(l[s[0].from:s[0].to]) {
			text := strings.TrimSpace(l[s[0].from+i].text)
			if _, _, twin := p.value(strings.TrimLeft(text, "#; \t")); twin && schema.IsIniComment(text) {
				return l.insert(s[0].from+i+1, added)
			}
		}
		at := s[0].to
		for at > s[0].from && strings.TrimSpace(l[at-1].text) == "" {
			at--
		}
		return l.insert(at, added)
	}
	texts := []string{p.Prefix + p.Section + p.Suffix, added}
	if p.wantsBlank(l) {
		texts = append([]string{""}, texts...)
	}
	return l.insert(len(l), texts...)
}

// wantsBlank reports whether a new section at the end of the file gets a blank line before it.
func (p iniPlace) wantsBlank(l lines) bool {
	return len(l) > 0 && strings.TrimSpace(l[len(l)-1].text) != ""
}

// unset takes every line of the setting out.
func (p iniPlace) unset(l lines) lines {
	for _, x := range slices.Backward(p.find(l)) {
		l = l.remove(x)
	}
	return l
}

// removeSection takes out a section of the name that holds nothing but blank lines, and, with blank, the blank line
// before it.
func (p iniPlace) removeSection(l lines, blank bool) lines {
	for _, s := range p.sections(l) {
		if s.header < 0 || slices.ContainsFunc(l[s.from:s.to], func(x line) bool { return strings.TrimSpace(x.text) != "" }) {
			continue
		}
		from := s.header
		if blank && from > 0 && l[from-1].text == "" {
			from--
		}
		return l.remove(span{from, s.header + 1})
	}
	return l
}
