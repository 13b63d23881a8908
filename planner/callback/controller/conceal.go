package controller

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/slipway/terraform-provider-slipway/planner/callback"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

const (
	// shownLimit bounds what an error shows of a program's or server's words, in bytes.
	shownLimit = 2 << 10
	// shortestSecret is the length from which on a value is concealed, in bytes: shorter ones (`1`, `yes`) occur in
	// every text, and to strike them out would show where they stand.
	shortestSecret = 4
)

// concealer takes secrets out of what others say.
type concealer struct {
	all     bool // nothing is shown
	secrets []string
}

// conceal returns the concealer for a callback: the values of its sensitive parameters, their lines and words, and all
// of these as JSON and URLs write them.
func conceal(r resource.Resource) concealer {
	c := concealer{all: r.Sensitive()}
	add := func(s string) {
		if len(s) < shortestSecret {
			return
		}
		c.secrets = append(c.secrets, s, url.QueryEscape(s), url.PathEscape(s))
		if quoted, err := json.Marshal(s); err == nil {
			c.secrets = append(c.secrets, string(quoted[1:len(quoted)-1]))
		}
	}
	for _, p := range callback.Schemas()[r.Type].Parameters {
		if !p.Sensitive {
			continue
		}
		values := slices.Concat(r.Parameters.Strings(p.Name),
			slices.Collect(maps.Values(r.Parameters.StringMap(p.Name))))
		for _, value := range values {
			add(value)
			for line := range strings.Lines(value) {
				add(strings.TrimSpace(line))
			}
			for _, word := range strings.FieldsFunc(value, isBlankOrQuote) {
				add(word)
			}
		}
	}
	// The longest first, so that no rest of one is left by a shorter one.
	slices.SortFunc(c.secrets, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)),
			strings.Compare(a, b))
	})
	c.secrets = slices.Compact(c.secrets)
	return c
}

func isBlankOrQuote(r rune) bool { return unicode.IsSpace(r) || r == '"' || r == '\'' }

// shown returns a parameter that is not sensitive, as an error shows it.
func (c concealer) shown(parameter string) string {
	if c.all {
		return "(sensitive)"
	}
	return parameter
}

// atBegin and atEnd are text for what was said of which only the last, or the first, part was kept: a secret that the
// cut went through would not be found, so as much as the longest one goes with it.
func (c concealer) atBegin(said string) string { return c.text(said[min(len(said), c.longest()):]) }
func (c concealer) atEnd(said string) string   { return c.text(said[:max(0, len(said)-c.longest())]) }

// longest is the length of the longest secret, in bytes.
func (c concealer) longest() int {
	if len(c.secrets) == 0 {
		return 0
	}
	return len(c.secrets[0])
}

// text returns the last part of what was said, on one line and without secrets.
func (c concealer) text(said string) string {
	if c.all {
		return "what it said is not shown because the callback is sensitive"
	}
	for _, s := range c.secrets {
		said = strings.ReplaceAll(said, s, "(sensitive)")
	}
	lines := strings.FieldsFunc(strings.ToValidUTF8(said, "?"), func(r rune) bool { return r == '\n' || r == '\r' })
	for i, line := range lines {
		lines[i] = strings.TrimSpace(resource.Visible(line))
	}
	said = strings.Join(slices.DeleteFunc(lines, func(s string) bool { return s == "" }), "; ")
	switch {
	case said == "":
		return "it said nothing"
	case len(said) > shownLimit:
		return "..." + strings.ToValidUTF8(said[len(said)-shownLimit:], "")
	}
	return said
}
