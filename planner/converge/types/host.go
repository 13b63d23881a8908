package types

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// hostType looks after one line of /etc/hosts: the first whose canonical name is the title and whose address is IPv4 or
// IPv6 like that of the resource or, where none is, the first of that name. Of those lines it is the one that remains.
// A line with the other kind of address (localhost has one for IPv4 and one for IPv6) is left alone, except that
// `ensure = absent` removes all.
type hostType struct{}

func (hostType) Declared() schema.Type { return schema.Host{} }

const hostsPath = "/etc/hosts"

// hostEntry is a line of /etc/hosts.
type hostEntry struct {
	ip, name string
	aliases  []string
	comment  string
}

func parseHost(text string) (hostEntry, bool) {
	data, comment, _ := strings.Cut(text, "#")
	f := strings.Fields(data)
	if len(f) < 2 {
		return hostEntry{}, false
	}
	return hostEntry{ip: f[0], name: f[1], aliases: f[2:], comment: strings.TrimSpace(comment)}, true
}

func (e hostEntry) String() string {
	text := e.ip + "\t" + e.name
	if len(e.aliases) > 0 {
		text += "\t" + strings.Join(e.aliases, " ")
	}
	if e.comment != "" {
		text += "\t# " + e.comment
	}
	return text
}

// with returns the entry with what r says of it.
func (e hostEntry) with(r resource.Resource) hostEntry {
	e.ip = r.Parameters.String("ip")
	if e.name == "" {
		e.name = r.Title
	}
	if r.Parameters.Has("host_aliases") {
		e.aliases = r.Parameters.Strings("host_aliases")
	}
	if r.Parameters.Has("comment") {
		e.comment = strings.TrimSpace(r.Parameters.String("comment"))
	}
	return e
}

// findHost finds the lines of a host whose addresses are of a family or, when it has none or family is empty, all its
// lines. Host names do not differ by case.
func findHost(name, family string) func(lines) []span {
	return func(l lines) []span {
		var all, some []span
		for i, x := range l {
			if e, ok := parseHost(x.text); ok && strings.EqualFold(e.name, name) {
				all = append(all, span{i, i + 1})
				if schema.FamilyOf(e.ip) == family {
					some = append(some, span{i, i + 1})
				}
			}
		}
		if len(some) > 0 {
			return some
		}
		return all
	}
}

// hostBefore is what was there of a host before slipway touched it.
type hostBefore struct {
	entries
	Family string `json:"family,omitempty"`
}

// Aim takes the family of an entry without one from the line that is there: slipway wrote or removed it.
func (hostType) Aim(s *Session, title, recorded string, before json.RawMessage) (string, error) {
	var e hostBefore
	if err := json.Unmarshal(before, &e); err != nil || recorded != "" || e.Family != "" {
		return recorded, err
	}
	f, err := s.readText(hostsPath)
	if err != nil {
		return "", err
	}
	r := resource.Resource{Title: title, Parameters: resource.Parameters{"ensure": "absent"}}
	if found := findHost(title, "")(f.lines); len(found) > 0 {
		is, _ := parseHost(f.lines[found[0].from].text)
		r.Parameters = resource.Parameters{"ip": is.ip}
	}
	_, aim := schema.Host{}.Object(r)
	return aim, nil
}

func (hostType) Check(_ context.Context, s *Session, r resource.Resource) ([]Difference, error) {
	f, err := s.readText(hostsPath)
	if err != nil {
		return nil, err
	}
	c := comparison{resource: r}
	found := findHost(r.Title, schema.HostFamily(r))(f.lines)
	switch {
	case schema.WantsAbsent(r) && len(found) > 0:
		c.state("present", "absent")
	case !schema.WantsAbsent(r) && len(found) == 0:
		c.state("absent", "present")
	case !schema.WantsAbsent(r):
		is, _ := parseHost(f.lines[found[0].from].text)
		should := is.with(r)
		c.text("ip", is.ip, should.ip)
		c.text("host_aliases", strings.Join(is.aliases, " "), strings.Join(should.aliases, " "))
		c.text("comment", is.comment, should.comment)
		if len(found) > 1 {
			c.found = append(c.found, Difference{"ip", fmt.Sprintf("on %d lines", len(found)), "on one line"})
		}
	}
	return c.found, nil
}

func (hostType) Capture(_ context.Context, s *Session, r resource.Resource) (json.RawMessage, error) {
	e, err := s.remember(r, hostsPath, findHost(r.Title, schema.HostFamily(r)))
	if err != nil {
		return nil, err
	}
	e.widen(r, hostParts, nil, nil, takeHost)
	return json.Marshal(hostBefore{e, schema.HostFamily(r)})
}

// Widen takes down what r says something of for the first time.
func (hostType) Widen(
	_ context.Context, s *Session, r resource.Resource, before json.RawMessage,
) (json.RawMessage, error) {
	var e hostBefore
	if err := json.Unmarshal(before, &e); err != nil {
		return nil, fmt.Errorf("what was there before: %w", err)
	}
	f, err := s.readText(hostsPath)
	if err != nil {
		return nil, err
	}
	e.widen(r, hostParts, f.lines, findHost(r.Title, e.Family)(f.lines), takeHost)
	return json.Marshal(e)
}

// Release returns parts of the line that was there; a line that slipway made has neither aliases nor a comment.
func (hostType) Release(
	_ context.Context, s *Session, r resource.Resource, before json.RawMessage,
) (resource.Parameters, json.RawMessage, error) {
	var e hostBefore
	if err := json.Unmarshal(before, &e); err != nil {
		return nil, nil, fmt.Errorf("what was there before: %w", err)
	}
	former, err := e.former(s, findHost(r.Title, e.Family))
	if err != nil {
		return nil, nil, err
	}
	var was hostEntry
	if len(former) > 0 {
		was, _ = parseHost(former[0].Lines[0])
	}
	returning := resource.Parameters{}
	for _, name := range e.release(r) {
		switch name {
		case "host_aliases":
			returning[name] = texts(was.aliases)
		case "comment":
			returning[name] = was.comment
		}
	}
	rest, err := json.Marshal(e)
	return returning, rest, err
}

// hostParts are the parts of a line that stay as they are when the resource says nothing of them.
var hostParts = []string{"host_aliases", "comment"}

// takeHost returns the line of a host with some parts of another one of it.
func takeHost(line, from string, parts []string) string {
	e, _ := parseHost(line)
	was := e.String()
	other, _ := parseHost(from)
	for _, name := range parts {
		switch name {
		case "ip":
			e.ip = other.ip
		case "host_aliases":
			e.aliases = other.aliases
		case "comment":
			e.comment = other.comment
		}
	}
	switch e.String() {
	case was:
		return line
	case other.String():
		return from
	}
	return e.String()
}

func (hostType) Apply(_ context.Context, s *Session, r resource.Resource) error {
	f, err := s.readText(hostsPath)
	if err != nil {
		return err
	}
	f.lines = applyHost(f.lines, r)
	if err := s.MakeAbove(hostsPath); err != nil {
		return err
	}
	return f.write(s, system.Attributes{})
}

func applyHost(l lines, r resource.Resource) lines {
	found := findHost(r.Title, schema.HostFamily(r))(l)
	if !schema.WantsAbsent(r) && len(found) == 0 {
		return l.insert(len(l), hostEntry{}.with(r).String())
	}
	for i, x := range slices.Backward(found) {
		if i > 0 || schema.WantsAbsent(r) {
			l = l.remove(x)
		}
	}
	if schema.WantsAbsent(r) {
		return l
	}
	is, _ := parseHost(l[found[0].from].text)
	if should := is.with(r); should.String() != is.String() {
		return l.replace(found[0], should.String())
	}
	return l
}

func (hostType) There(_ context.Context, s *Session, title string, before json.RawMessage) (bool, error) {
	var e hostBefore
	if err := json.Unmarshal(before, &e); err != nil {
		return false, err
	}
	return s.findsIn(hostsPath, findHost(title, e.Family))
}

func (hostType) Undo(_ context.Context, s *Session, title string, before json.RawMessage) error {
	var e hostBefore
	if err := json.Unmarshal(before, &e); err != nil {
		return fmt.Errorf("what was there before: %w", err)
	}
	f, err := s.readText(hostsPath)
	if err != nil {
		return err
	}
	find := findHost(title, e.Family)
	former, err := e.former(s, find)
	if err != nil {
		return err
	}
	f.lines = undoHost(f.lines, find(f.lines), former, append([]string{"ip"}, e.Fields...))
	return e.writeBack(s, f, system.Attributes{})
}

// undoHost brings former lines back in place of slipway's, the first of those found. Further ones are not slipway's and
// stay; a former line that is among them is back already. parts are what slipway changed in its line.
func undoHost(l lines, found []span, former []block, parts []string) lines {
	if len(found) == 0 || len(former) == 0 {
		return l.restore(found, former, 1)
	}
	text := func(x span) string { return l[x.from].text }
	own := max(0, slices.IndexFunc(found, func(x span) bool { return text(x) == former[0].Lines[0] }))
	others := slices.Delete(slices.Clone(found), own, own+1)
	first := former[0]
	first.Lines = []string{takeHost(text(found[own]), first.Lines[0], parts)}
	missing := []block{first}
	for _, b := range former[1:] {
		i := slices.IndexFunc(others, func(x span) bool { return text(x) == b.Lines[0] })
		if i < 0 {
			missing = append(missing, b)
			continue
		}
		others = slices.Delete(others, i, i+1)
	}
	return l.restore(found[own:own+1], missing, 1)
}
