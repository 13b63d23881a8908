package types

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

func lineOf(t testing.TB, p resource.Parameters) resource.Resource {
	t.Helper()
	if p["path"] == nil {
		p["path"] = "/etc/x"
	}
	return res(t, lineType{}, "any title", p)
}

func TestFileLine(t *testing.T) {
	const file = "# head\n#Port 22\nHost a\n"
	missing := []Difference{{"ensure", "absent", "present"}}
	for _, tt := range []struct {
		name, file string
		parameters resource.Parameters
		diffs      []Difference
		want       string
	}{
		{"new", file, resource.Parameters{"line": "Port 1"}, missing, file + "Port 1\n"},
		{"is there", file, resource.Parameters{"line": "Host a"}, nil, file},
		{"in the place of a match", file, resource.Parameters{"line": "Port 1", "match": "^#?Port "}, []Difference{{"line", "#Port 22", "Port 1"}}, "# head\nPort 1\nHost a\n"},
		{"nothing matches", file, resource.Parameters{"line": "Listen 1", "match": "^Listen "}, missing, file + "Listen 1\n"},
		{"is there, and others match", "Port 1\nPort 2\n", resource.Parameters{"line": "Port 2", "match": "^Port "}, nil, "Port 1\nPort 2\n"},
		{"after a line", file, resource.Parameters{"line": "Port 1", "after": "^# head"}, missing, "# head\nPort 1\n#Port 22\nHost a\n"},
		{"after a line that is not there", file, resource.Parameters{"line": "Port 1", "after": "^none"}, missing, file + "Port 1\n"},
		{"several give way", "a 1\nb\na 2\n", resource.Parameters{"line": "a 3", "match": "^a", "multiple": true}, []Difference{{"line", "a 1", "a 3"}}, "a 3\nb\na 3\n"},
		{"after several", "a\nb\na\n", resource.Parameters{"line": "c", "after": "^a", "multiple": true}, missing, "a\nc\nb\na\nc\n"},
		{"after a last line without an end", "a", resource.Parameters{"line": "b"}, missing, "a\nb\n"},
		{"DOS", "a\r\nb\r\n", resource.Parameters{"line": "c", "after": "^a$"}, missing, "a\r\nc\r\nb\r\n"},
		{"absent", "a\nb\na\n", resource.Parameters{"ensure": "absent", "line": "a"}, []Difference{{"ensure", "present", "absent"}}, "b\n"},
		{"is absent", file, resource.Parameters{"ensure": "absent", "line": "x"}, nil, file},
		{"what matches is absent", file, resource.Parameters{"ensure": "absent", "match": "^#Port", "match_for_absence": true}, []Difference{{"ensure", "present", "absent"}}, "# head\nHost a\n"},
		{"sensitive", "key hunter2\n", resource.Parameters{"line": "key new", "match": "^key ", "sensitive": true}, []Difference{{"line", "key hunter2", "key new"}}, "key new\n"},
		{"text that is not UTF-8", "a\xff\n", resource.Parameters{"line": "b", "match": "^a"}, []Difference{{"line", "a\xff", "b"}}, "b\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := folder(t, map[string]string{"etc/x": tt.file})
			r := lineOf(t, tt.parameters)
			s.ID = r.ID()
			diffs, err := lineType{}.Check(t.Context(), s, r)
			if diff := cmp.Diff(tt.diffs, diffs); diff != "" || err != nil {
				t.Errorf("%v %s", err, diff)
			}
			before := applied(t, s, lineType{}, r)
			if content, err := s.ReadFile("/etc/x"); err != nil || string(content) != tt.want {
				t.Errorf("%v: got %q, want %q", err, content, tt.want)
			}
			if strings.Contains(string(before), "hunter2") {
				t.Errorf("the ledger would have %s", before)
			}
			undone(t, s, lineType{}, r, before)
			if content, err := s.ReadFile("/etc/x"); err != nil || string(content) != tt.file {
				t.Errorf("undo, %v: got %q, want %q", err, content, tt.file)
			}
		})
	}
}

func TestFileLineErrors(t *testing.T) {
	for _, tt := range []struct {
		parameters resource.Parameters
		want       string
	}{
		{resource.Parameters{"line": "c", "match": "^a"}, "match: matches 2 lines of /etc/x, the first of them line 1; make it match one, or set multiple = true"},
		{resource.Parameters{"line": "c", "after": "^a"}, "after: matches 2 lines of /etc/x"},
		{resource.Parameters{"ensure": "absent", "match": "^a", "match_for_absence": true}, "match: matches 2 lines of /etc/x"},
		{resource.Parameters{"line": "c", "path": "/none/x"}, "make the directory /none first"},
	} {
		s := folder(t, map[string]string{"etc/x": "a 1\na 2\n"})
		err := lineType{}.Apply(t.Context(), s, lineOf(t, tt.parameters))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v: %v, want %s", tt.parameters, err, tt.want)
		}
	}
	for _, tt := range []struct {
		parameters resource.Parameters
		wrong      string
	}{
		{resource.Parameters{}, "line"},
		{resource.Parameters{"line": "a\nb"}, "line"},
		{resource.Parameters{"line": "a", "match": "("}, "match"},
		{resource.Parameters{"line": "a", "match_for_absence": true, "match": "a"}, "match_for_absence"},
		{resource.Parameters{"ensure": "absent", "match_for_absence": true}, "match_for_absence"},
		{resource.Parameters{"ensure": "absent", "line": "a", "match": "a"}, "match"},
		{resource.Parameters{"ensure": "absent", "line": "a", "after": "a"}, "after"},
	} {
		tt.parameters["path"] = "/etc/x"
		errs := lineType{}.Schema().Validate(resource.Resource{Type: "file_line", Title: "t", Parameters: tt.parameters})
		if len(errs) != 1 || errs[0].Attribute != tt.wrong {
			t.Errorf("%v: %v, want %s", tt.parameters, errs, tt.wrong)
		}
	}
}

// What others wrote since stays, also where it matches.
func TestFileLineUndoKeepsForeignLines(t *testing.T) {
	s := folder(t, map[string]string{"etc/x": "a\n"})
	r := lineOf(t, resource.Parameters{"line": "Port 1", "match": "^Port "})
	before := applied(t, s, lineType{}, r)
	if err := s.WriteFile("/etc/x", []byte("a\nPort 9\n"), system.Attributes{}); err != nil {
		t.Fatal(err)
	}
	undone(t, s, lineType{}, r, before)
	if content, err := s.ReadFile("/etc/x"); err != nil || string(content) != "a\nPort 9\n" {
		t.Errorf("%q, %v", content, err)
	}
}

func TestFileLineMakesAndRemovesTheFile(t *testing.T) {
	s := folder(t, map[string]string{"etc/": ""})
	one := lineOf(t, resource.Parameters{"line": "a"})
	two := res(t, lineType{}, "two", resource.Parameters{"path": "/etc/x", "line": "b", "after": "^a"})
	checkUndo(t, s, []change{{lineType{}, one}, {lineType{}, two}}, "/etc/x", "")
}

func TestAnyFileLinesAreUndone(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := folder(t, map[string]string{"etc/x": randomText(r, []string{"a 1", "a 2", "b", "", "#a 3", "\xff"})})
		var changes []change
		for i, lines := 0, r.Perm(4); i < 1+r.IntN(3); i++ {
			p := resource.Parameters{"path": "/etc/x", "line": []string{"a 1", "b", "c", "d 4"}[lines[i]], "multiple": true}
			switch r.IntN(4) {
			case 0:
				p["match"] = pick(r, "^#?a", "b", "^$")
			case 1:
				p["after"] = pick(r, "a", "^b")
			case 2:
				p["ensure"] = "absent"
				delete(p, "multiple")
			}
			changes = append(changes, change{lineType{}, res(t, lineType{}, string(rune('a'+i)), p)})
		}
		foreign := pick(r, "", "foreign\n")
		checkUndo(t, s, changes, "/etc/x", foreign)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}
