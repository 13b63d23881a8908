package types

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// hostType looks after one line of /etc/hosts: the first whose canonical name is the title and whose address is IPv4 or
// IPv6 like that of the resource or, where none is, the first of that name. Of those lines it is the one that remains.
// A line with the other kind of address (localhost has one for IPv4 and one for IPv6) is left alone, except that
// `ensure = absent` removes all.
type hostType struct {
	recorded[hostType, *hostBefore]
}

func (hostType) Schema() resource.Schema { return schema.Host() }

var hosts = table{
	path: "/etc/hosts", parts: []string{"ip", "host_aliases", "comment"}, fresh: row{}, alone: true,
	separator: " ",
	parse: func(text string) (row, bool) {
		data, comment, _ := strings.Cut(text, "#")
		f := strings.Fields(data)
		if len(f) < 2 {
			return row{}, false
		}
		return row{
			"ip": f[0], "name": f[1], "host_aliases": strings.Join(f[2:], " "), "comment": strings.TrimSpace(comment),
		}, true
	},
	format: func(e row) string {
		text := e["ip"] + "\t" + e["name"]
		if e["host_aliases"] != "" {
			text += "\t" + e["host_aliases"]
		}
		if e["comment"] != "" {
			text += "\t# " + e["comment"]
		}
		return text
	},
}

// findHost finds the lines of a host whose addresses are of a family or, when it has none or family is empty, all its
// lines. Host names do not differ by case.
func findHost(name, family string) finder {
	named := func(e row) bool { return strings.EqualFold(e["name"], name) }
	return func(l lines) []span {
		some := hosts.find(func(e row) bool { return named(e) && schema.FamilyOf(e["ip"]) == family })(l)
		if len(some) > 0 {
			return some
		}
		return hosts.find(named)(l)
	}
}

// hostOf returns what finds the lines of r.
func hostOf(r resource.Resource) finder { return findHost(r.Title, schema.HostFamily(r)) }

// hostBefore is what was there of a host before slipway touched it.
type hostBefore struct {
	entries
	Family string `json:"family,omitempty"`
}

// Aim takes the family of an entry without one from the line that is there: slipway wrote or removed it.
func (hostType) Aim(s *Session, title, recorded string, before json.RawMessage) (string, error) {
	e, err := decode[*hostBefore](before)
	if err != nil || recorded != "" || e.Family != "" {
		return recorded, err
	}
	f, err := s.readText(hosts.path)
	if err != nil {
		return "", err
	}
	r := resource.Resource{Title: title, Parameters: resource.Parameters{"ensure": "absent"}}
	if found := findHost(title, "")(f.lines); len(found) > 0 {
		is, _ := hosts.at(f.lines, found, r)
		r.Parameters = resource.Parameters{"ip": is["ip"]}
	}
	_, aim := schema.Host().Target(r)
	return aim, nil
}

func (hostType) Check(_ context.Context, s *Session, r resource.Resource) ([]Difference, error) {
	f, err := s.readText(hosts.path)
	if err != nil {
		return nil, err
	}
	c := comparison{resource: r}
	if found := hostOf(r)(f.lines); c.present(len(found) > 0) {
		hosts.compare(&c, f.lines, found)
	}
	return c.found, nil
}

func (hostType) capture(_ context.Context, s *Session, r resource.Resource) (*hostBefore, error) {
	e, err := s.remember(r.Sensitive(), hosts.path, hostOf(r))
	hosts.widen(&e, r, nil, nil)
	return &hostBefore{e, schema.HostFamily(r)}, err
}

func (hostType) now(_ context.Context, s *Session, title string, b *hostBefore) (*hostBefore, error) {
	e, err := s.remember(true, hosts.path, findHost(title, b.Family))
	e.Fields, e.Image = b.Fields, true
	return &hostBefore{e, b.Family}, err
}

func (hostType) widen(_ context.Context, s *Session, r resource.Resource, b *hostBefore) error {
	f, err := s.readText(hosts.path)
	if err == nil {
		hosts.widen(&b.entries, r, f.lines, findHost(r.Title, b.Family)(f.lines))
	}
	return err
}

// release returns parts of the line that was there; a line that slipway made has neither aliases nor a comment.
func (hostType) release(
	_ context.Context, s *Session, r resource.Resource, b *hostBefore,
) (resource.Parameters, error) {
	return hosts.release(s, &b.entries, r, findHost(r.Title, b.Family))
}

func (hostType) Apply(_ context.Context, s *Session, r resource.Resource) error {
	f, err := s.readText(hosts.path)
	if err != nil {
		return err
	}
	f.lines = hosts.set(f.lines, hostOf(r)(f.lines), r)
	if err := s.MakeAbove(hosts.path); err != nil {
		return err
	}
	return f.write(s, system.Attributes{})
}

func (hostType) there(_ context.Context, s *Session, title string, b *hostBefore) (bool, error) {
	return s.findsIn(hosts.path, findHost(title, b.Family))
}

func (hostType) undo(_ context.Context, s *Session, title string, b *hostBefore) error {
	return b.undo(s, findHost(title, b.Family), system.Attributes{}, func(l lines, found []span, former []block) lines {
		return hosts.undo(l, found, former, b.Fields)
	})
}
