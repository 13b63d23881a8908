package catalog

import (
	"fmt"
	"strings"
	"testing"
)

func TestSelectorMatches(t *testing.T) {
	nic := &Entity{Name: "nic", Ancestors: []string{"interface", "base"}}
	tests := map[string]struct {
		selector Selector
		typ      string
		of       *Entity
		in       Section
		want     bool
	}{
		"type":            {Selector{Types: []string{"file", "exec"}}, "exec", nil, Services, true},
		"another type":    {Selector{Types: []string{"file"}}, "exec", nil, Services, false},
		"entity":          {Selector{Entities: []string{"nic"}}, "file", nic, Services, true},
		"ancestor":        {Selector{Entities: []string{"x", "base"}}, "file", nic, Services, true},
		"another entity":  {Selector{Entities: []string{"x"}}, "file", nic, Services, false},
		"no entity":       {Selector{Entities: []string{"nic"}}, "file", nil, Services, false},
		"section":         {Selector{Sections: []Section{OS}}, "file", nic, OS, true},
		"another section": {Selector{Sections: []Section{OS}}, "file", nic, Routes, false},
		"all lists":       {Selector{[]string{"file"}, []string{"nic"}, []Section{OS}}, "file", nic, OS, true},
		"all lists, one does not": {Selector{[]string{"file"}, []string{"nic"}, []Section{Routes}}, "file", nic, OS,
			false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tt.selector.Matches(tt.typ, tt.of, tt.in); got != tt.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

func TestParseOrdering(t *testing.T) {
	all := Ordering{
		Classes: []Class{{"net", Selector{Types: []string{"file"}}},
			{"disk", Selector{Entities: []string{"anything"}}}},
		Waits:     []Wait{{Selector{Sections: []Section{OS}}, Selector{Types: []string{"<&>"}}}},
		Unordered: []string{"package"},
		Counts:    []Counting{{Selector{Types: []string{"file"}}, Routes}},
	}
	text, err := all.Definition()
	if err != nil {
		t.Fatal(err)
	}
	back, wrong := ParseOrdering(text)
	if wrong != nil {
		t.Fatal(wrong)
	}
	if again, err := back.Definition(); err != nil || again != text || !strings.Contains(text, "<&>") {
		t.Errorf("%s comes back as %s (%v)", text, again, err)
	}
	if empty, wrong := ParseOrdering("{}"); wrong != nil || !empty.Empty() || back.Empty() {
		t.Errorf("got %v, %v", empty, wrong)
	}
	for text, want := range map[string]string{
		"": "is not the ordering of a catalog (EOF)", "7": "is not the ordering of a catalog", "null": "it is null", "{} {}": "there is more after its end",
		`{"class": []}`:                        `unknown field "class"`,
		`{"waits": [{"tasks": {"types": 3}}]}`: "is not the ordering of a catalog",
		`{"waits": [{}]}`:                      "waits[0].tasks: selects nothing; give types, entities or sections; waits[0].for: selects nothing",
		`{"counts_as": [{"tasks": {"sections": ["oss"]}, "section": ""}]}`: `counts_as[0].tasks.sections[0]: there is no section "oss"; did you mean "os"?; counts_as[0].section: there is no section ""`,
		`{"classes": [{"name": "a b", "tasks": {"types": ["x"]}}]}`:        `classes[0].name: "a b" is not a usable name`,
		`{"unordered": [` + strings.Repeat(`"x",`, MaxRules) +
			`"x"]}`: "has 1001 rules; 1000 is the most",
		`{"classes": [{"name": "a", "tasks": {"types": [` + strings.Repeat(`"x",`, maxNamed) +
			`"x"]}}]}`: "classes[0].tasks: names 101 types, entities and sections; 100 is the most",
		strings.Repeat(" ",
			definitionLimit+1): "the ordering of a catalog has 8388609 bytes; 8388608 is the most",
	} {
		o, wrong := ParseOrdering(text)
		lines := make([]string, len(wrong))
		for i, m := range wrong {
			lines[i] = m.Error()
		}
		if got := strings.Join(lines, "; "); o != nil || !strings.Contains(got, want) {
			t.Errorf("%.80s: got %v, %s, want %q", text, o, got, want)
		}
	}
	if fmt.Sprint(all.Check()) != "[]" {
		t.Error(all.Check())
	}
}
