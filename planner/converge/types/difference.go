package types

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// shownLimit bounds Difference.Is and Difference.Should, in characters.
const shownLimit = 80

// Hidden stands for a value that is not shown.
const Hidden = "(sensitive)"

// String says what differs: `mode is 0600, should be 0644`.
func (d Difference) String() string {
	return fmt.Sprintf("%s is %s, should be %s", d.Parameter, orEmpty(d.Is), orEmpty(d.Should))
}

func orEmpty(value string) string {
	if value == "" {
		return "empty"
	}
	return value
}

// comparison collects the differences of one resource. The session hides what of them is secret.
type comparison struct {
	resource resource.Resource
	found    []Difference
}

// text notes a parameter whose value is not as it should be.
func (c *comparison) text(parameter, is, should string) {
	if is != should {
		c.found = append(c.found, Difference{parameter, shorten(is), shorten(should)})
	}
}

// state notes an `ensure` that is not as it should be. States are never secret.
func (c *comparison) state(is, should string) {
	if is != should {
		c.found = append(c.found, Difference{"ensure", is, should})
	}
}

// present notes when the object is there and should not be, or the other way around. It reports whether it is there and
// should be, so that there is more to compare.
func (c *comparison) present(there bool) bool {
	wanted := !schema.WantsAbsent(c.resource)
	if there != wanted {
		c.found = append(c.found, ensureDifference(there))
	}
	return there && wanted
}

// oneLine notes a parameter that is on several lines of a file.
func (c *comparison) oneLine(parameter string, count int) {
	c.found = append(c.found, Difference{parameter, fmt.Sprintf("on %d lines", count), "on one line"})
}

// ensureDifference is that of an object that is there and should not be, or the other way round.
func ensureDifference(there bool) Difference {
	if there {
		return Difference{Parameter: "ensure", Is: "present", Should: "absent"}
	}
	return Difference{Parameter: "ensure", Is: "absent", Should: "present"}
}

func shorten(text string) string {
	if utf8.RuneCountInString(text) <= shownLimit {
		return text
	}
	return string([]rune(text)[:shownLimit-1]) + "…"
}

// Difference is one parameter that is not as desired. Is and Should are short: contents are shown as digests. A type
// that gives them the name of their parameter leaves it to the session to hide secrets.
type Difference struct {
	Parameter string `json:"parameter"`
	Is        string `json:"is"`
	Should    string `json:"should"`
}

// Started reports whether the differences that were just repaired say that the resource was started, made or run, so
// that it has seen all that came before it and needs no refresh.
func Started(diffs []Difference) bool {
	return slices.ContainsFunc(diffs, func(d Difference) bool {
		return d.Parameter == "ensure" || d.Parameter == createsParameter || d.Parameter == returnsParameter
	})
}
