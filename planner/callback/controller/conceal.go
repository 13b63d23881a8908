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
	// shownLimit bounds the output of a program or server that an error shows, in bytes.
	shownLimit = 2 << 10
	// shortestSecret is the least length of a concealed value, in bytes. Shorter ones (`1`, `yes`) occur in any text,
	// and replacing them would reveal where they are.
	shortestSecret = 4
)

// concealer removes secrets from text.
type concealer struct {
	all     bool // nothing is shown
	secrets []string
}

// conceal returns the concealer of a callback: it knows the values of sensitive parameters, their lines and words, and
// all of these as encoded in JSON and URLs.
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
	// The longest come first, so that a shorter secret leaves no part of a longer one.
	slices.SortFunc(c.secrets, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)),
			strings.Compare(a, b))
	})
	c.secrets = slices.Compact(c.secrets)
	return c
}

func isBlankOrQuote(r rune) bool { return unicode.IsSpace(r) || r == '"' || r == '\'' }

// shown returns a parameter that is not sensitive, for an error.
func (c concealer) shown(parameter string) string {
	if c.all {
		return "(sensitive)"
	}
	return parameter
}

// atBegin and atEnd are text for output that was cut at its start, or end. A secret at the cut cannot be found, so they
// also remove as many bytes as the longest secret has.
func (c concealer) atBegin(said string) string { return c.text(said[min(len(said), c.longest()):]) }
func (c concealer) atEnd(said string) string   { return c.text(said[:max(0, len(said)-c.longest())]) }

// longest returns the length of the longest secret, in bytes.
func (c concealer) longest() int {
	if len(c.secrets) == 0 {
		return 0
	}
	return len(c.secrets[0])
}

// text returns the last part of a text, on one line and without secrets.
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
