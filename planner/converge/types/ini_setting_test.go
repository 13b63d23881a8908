package types

import (
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system/systemtest"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

func ini(path string, more resource.Parameters) resource.Parameters {
	p := resource.Parameters{"path": path, "setting": "color", "value": "red"}
	for k, v := range more {
		if p[k] = v; v == nil {
			delete(p, k)
		}
	}
	return p
}

func TestIniSetting(t *testing.T) {
	const file = "; head\nglobal=1\n\n[main]\n# note\n  color  =  blue  \nsize=3\n\n[ other ] ; x\ncolor: green\n"
	for _, tt := range []struct {
		name, file string
		parameters resource.Parameters
		diffs      []Difference
		want       string
	}{
		{"in its line, which keeps its blanks", file, resource.Parameters{"section": "main"}, []Difference{{"value", "blue", "red"}}, strings.Replace(file, "blue", "red", 1)},
		{"as it should be", file, resource.Parameters{"section": "main", "value": "blue"}, nil, file},
		{"new in a section", file, resource.Parameters{"section": "main", "setting": "shape"}, []Difference{{"ensure", "absent", "present"}},
			strings.Replace(file, "size=3\n", "size=3\nshape = red\n", 1)},
		{"before the first section", file, nil, []Difference{{"ensure", "absent", "present"}}, strings.Replace(file, "global=1\n", "global=1\ncolor = red\n", 1)},
		{"new section", file, resource.Parameters{"section": "new"}, []Difference{{"ensure", "absent", "present"}}, file + "\n[new]\ncolor = red\n"},
		{"new section, last line without an end", "[a]\nb=1", resource.Parameters{"section": "new"}, []Difference{{"ensure", "absent", "present"}}, "[a]\nb=1\n\n[new]\ncolor = red\n"},
		{"in a last line without an end", "x=1\ncolor=blue", nil, []Difference{{"value", "blue", "red"}}, "x=1\ncolor=red\n"},
		{"before a last line without an end", "color=blue\r\nx=1", nil, []Difference{{"value", "blue", "red"}}, "color=red\r\nx=1\r\n"},
		{"absent, before a last line without an end", "color=blue\nx=1", resource.Parameters{"ensure": "absent", "value": nil}, []Difference{{"ensure", "present", "absent"}}, "x=1\n"},
		{"absent, in a last line without an end", "x=1\ncolor=blue", resource.Parameters{"ensure": "absent", "value": nil}, []Difference{{"ensure", "present", "absent"}}, "x=1\n"},
		{"as it should be, in a last line without an end", "x=1\ncolor=red", nil, nil, "x=1\ncolor=red"},
		{"other separator", file, resource.Parameters{"section": "other", "key_val_separator": ": "}, []Difference{{"value", "green", "red"}}, strings.Replace(file, "green", "red", 1)},
		{"blank as separator", "color blue\ncolors x\n", resource.Parameters{"key_val_separator": " "}, []Difference{{"value", "blue", "red"}}, "color red\ncolors x\n"},
		{"other frame", "## main ##\ncolor=1\n", resource.Parameters{"section": "main", "section_prefix": "## ", "section_suffix": " ##"}, []Difference{{"value", "1", "red"}}, "## main ##\ncolor=red\n"},
		{"DOS", "[main]\r\ncolor=blue\r\n", resource.Parameters{"section": "main"}, []Difference{{"value", "blue", "red"}}, "[main]\r\ncolor=red\r\n"},
		{"byte order mark", "\ufeff[main]\ncolor=blue\n", nil, []Difference{{"ensure", "absent", "present"}}, "\ufeffcolor = red\n[main]\ncolor=blue\n"},
		{"empty value", "color =\n", nil, []Difference{{"value", "", "red"}}, "color = red\n"},
		{"to an empty value", "color = blue\n", resource.Parameters{"value": ""}, []Difference{{"value", "blue", ""}}, "color = \n"},
		{"twice there", "color=1\nx=1\ncolor=2\n", nil, []Difference{{"value", "1", "red"}, {"setting", "on 2 lines", "on one line"}}, "color=red\nx=1\n"},
		{"twice there, and equal", "color=red\ncolor=red\n", nil, []Difference{{"setting", "on 2 lines", "on one line"}}, "color=red\n"},
		{"next to its commented-out twin", "[a]\n# colors are\n#color = blue\nsize=1\n[b]\n;color=x\n", resource.Parameters{"section": "a"}, []Difference{{"ensure", "absent", "present"}}, "[a]\n# colors are\n#color = blue\ncolor = red\nsize=1\n[b]\n;color=x\n"},
		{"a number and a bool", "color=1\n", resource.Parameters{"value": true}, []Difference{{"value", "1", "true"}}, "color=true\n"},
		{"a comment is no setting", "#color=1\n;color=1\n", nil, []Difference{{"ensure", "absent", "present"}}, "#color=1\n;color=1\ncolor = red\n"},
		{"absent", file, resource.Parameters{"section": "main", "ensure": "absent", "value": nil}, []Difference{{"ensure", "present", "absent"}}, strings.Replace(file, "  color  =  blue  \n", "", 1)},
		{"section in two parts", "[a]\nx=1\n[b]\n[a]\ncolor=blue\n", resource.Parameters{"section": "a"}, []Difference{{"value", "blue", "red"}}, "[a]\nx=1\n[b]\n[a]\ncolor=red\n"},
		{"sensitive", "color=hunter2\n", resource.Parameters{"sensitive": true}, []Difference{{"value", "hunter2", "red"}}, "color=red\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := folder(t, map[string]string{"etc/x.ini": tt.file})
			was := systemtest.Inventory(t, s.Root)
			r := res(t, iniType{}, "any title", ini("/etc/x.ini", tt.parameters))
			s.ID = r.ID()
			diffs, err := iniType{}.Check(t.Context(), s, r)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.diffs, diffs); diff != "" {
				t.Error(diff)
			}
			before := applied(t, s, iniType{}, r)
			content, err := s.ReadFile("/etc/x.ini")
			if err != nil || string(content) != tt.want {
				t.Errorf("%v, got\n%s\nwant\n%s", err, content, tt.want)
			}
			if strings.Contains(string(before), "hunter2") {
				t.Errorf("the ledger would hold %s", before)
			}
			undone(t, s, iniType{}, r, before)
			now := systemtest.Inventory(t, s.Root)
			delete(now, "/var")
			delete(now, "/var/lib")
			if diff := cmp.Diff(was, now); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestIniSettingMakesAndRemovesTheFile(t *testing.T) {
	s := folder(t, map[string]string{"etc/": ""})
	one := res(t, iniType{}, "one", ini("/etc/x.ini", resource.Parameters{"section": "main"}))
	two := res(t, iniType{}, "two", ini("/etc/x.ini", resource.Parameters{"section": "main", "setting": "size"}))
	checkUndo(t, s, []change{{iniType{}, one}, {iniType{}, two}}, "/etc/x.ini", "")
	apply(t, s, iniType{}, res(t, iniType{}, "secret", ini("/etc/secret.ini", resource.Parameters{"sensitive": true})))
	if info, err := s.Lstat("/etc/secret.ini"); err != nil || info.Mode.Perm() != 0o600 {
		t.Errorf("a new file with a secret: %v, %v", info.Mode, err)
	}
}

func TestIniSettingKeepsModeAndForeignEdits(t *testing.T) {
	s := folder(t, map[string]string{"etc/x.ini": "[a]\nb=1\n"})
	if err := os.Chmod(s.Root+"/etc/x.ini", 0o640); err != nil {
		t.Fatal(err)
	}
	r := res(t, iniType{}, "one", ini("/etc/x.ini", resource.Parameters{"section": "new"}))
	before := applied(t, s, iniType{}, r)
	if err := s.WriteFile("/etc/x.ini", []byte("[a]\nb=2\n\n[new]\ncolor = red\nforeign = 1\n"), system.Attributes{}); err != nil {
		t.Fatal(err)
	}
	undone(t, s, iniType{}, r, before)
	content, err := s.ReadFile("/etc/x.ini")
	if err != nil || string(content) != "[a]\nb=2\n\n[new]\nforeign = 1\n" {
		t.Errorf("%q, %v", content, err)
	}
	if info, err := s.Lstat("/etc/x.ini"); err != nil || info.Mode.Perm() != 0o640 {
		t.Errorf("%v, %v", info.Mode, err)
	}
}

func TestIniSettingWithoutDirectory(t *testing.T) {
	s := folder(t, nil)
	r := res(t, iniType{}, "one", ini("/etc/none/x.ini", nil))
	if diffs, err := (iniType{}).Check(t.Context(), s, r); err != nil || len(diffs) != 1 {
		t.Errorf("check: %v, %v", diffs, err)
	}
	if err := (iniType{}).Apply(t.Context(), s, r); err == nil || !strings.Contains(err.Error(), "make the directory /etc/none first") {
		t.Errorf("apply: %v", err)
	}
	gone := res(t, iniType{}, "one", ini("/etc/none/x.ini", resource.Parameters{"ensure": "absent"}))
	undone(t, s, iniType{}, gone, applied(t, s, iniType{}, gone))
}

func TestIniSettingSchema(t *testing.T) {
	for _, tt := range []struct {
		change resource.Parameters
		want   string
	}{
		{resource.Parameters{"value": nil}, "value: is required unless ensure is absent"},
		{resource.Parameters{"path": "x.ini"}, `path: "x.ini" must be an absolute path`},
		{resource.Parameters{"path": "/a/../b"}, `path: "/a/../b" must be written "/b"`},
		{resource.Parameters{"setting": ""}, "setting: must not be empty"},
		{resource.Parameters{"setting": "#x"}, "setting: must not begin with #"},
		{resource.Parameters{"setting": "a=b"}, "setting: must not contain the separator"},
		{resource.Parameters{"setting": "a b", "key_val_separator": " "}, "setting: must not contain the separator"},
		{resource.Parameters{"setting": "[a", "value": "b]"}, "setting: with its value it would read as the header"},
		{resource.Parameters{"value": " x"}, "value: must not begin or end with a blank"},
		{resource.Parameters{"value": "a\nb"}, "value: contains a line break"},
		{resource.Parameters{"key_val_separator": ""}, "key_val_separator: must not be empty"},
		{resource.Parameters{"section_prefix": " "}, "section_prefix: must not be empty"},
		{resource.Parameters{"section": "a] # b"}, ""},
		{resource.Parameters{"section": "a", "section_suffix": ""}, ""},
	} {
		errs := iniType{}.Schema().Validate(resource.Resource{Type: "ini_setting", Title: "t", Parameters: ini("/x", tt.change)})
		if tt.want == "" && len(errs) == 0 {
			continue
		}
		if len(errs) != 1 || !strings.HasPrefix(errs[0].Error(), tt.want) || tt.want == "" {
			t.Errorf("%v: %v, want %q", tt.change, errs, tt.want)
		}
	}
}

var iniFragments = []string{"", " ", "# note", "[a]", "[b]", "[ a ] ; x", "color=1", " color = 2 ", "size=3", "junk", "[a\r", "color=\r"}

func TestIniSettingUndoProperty(t *testing.T) {
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 5))
		text := randomText(r, iniFragments)
		s := folder(t, map[string]string{"x.ini": text})
		var changes []change
		for _, title := range []string{"one", "two", "three"}[:1+r.IntN(3)] {
			p := ini("/x.ini", resource.Parameters{"setting": pick(r, "color", "size", "new"), "section": pick(r, "", "a", "b", "c")})
			if r.IntN(3) == 0 {
				p["ensure"] = "absent"
			}
			next := res(t, iniType{}, title, p)
			if !slices.ContainsFunc(changes, func(c change) bool { return placeOf(c.Resource) == placeOf(next) }) {
				changes = append(changes, change{iniType{}, next})
			}
		}
		checkUndo(t, s, changes, "/x.ini", pick(r, "", "foreign = 1\n"))
		if t.Failed() {
			t.Fatalf("seed %d: %q", seed, text)
		}
	}
}

func FuzzIni(f *testing.F) {
	f.Add("[a]\nb = 1\n\n[c]\nd=2", "a", "b", "x", " = ", "[", "]", false)
	f.Add("a b\r\n", "", "a", "x", " ", "[", "]", true)
	f.Add("# s\nk: v\n", "s", "k", "x", ":", "# ", "", false)
	f.Add("a\n", "", "a", "x", "\v", "[", "]", false)
	f.Fuzz(func(t *testing.T, text, section, setting, value, separator, prefix, suffix string, absent bool) {
		r := resource.Resource{Type: "ini_setting", Title: "t", Parameters: resource.Parameters{
			"path": "/x", "section": section, "setting": setting, "value": value,
			"key_val_separator": separator, "section_prefix": prefix, "section_suffix": suffix,
		}}
		if len(iniType{}.Schema().Validate(r)) > 0 {
			t.Skip("not a setting")
		}
		p := placeOf(r)
		l := parseLines([]byte(text))
		b := iniBefore{iniPlace: p, SectionThere: p.Section == "" || len(p.sections(l)) > 0, Blank: p.wantsBlank(l), Unended: unended(l)}
		fuzzEditor(t, text, p.find, func(l lines) lines {
			was := l
			if absent {
				l = p.unset(l)
			} else {
				l = p.set(l, value)
			}
			if !slices.Equal(was, l) {
				l = l.close()
			}
			if absent {
				return l
			}
			values := p.values(l)
			if len(values) == 0 || slices.ContainsFunc(values, func(v string) bool { return v != value }) {
				t.Fatalf("%q: set to %q, it has the values %q", l.bytes(), value, values)
			}
			return l
		}, func(l lines, former []block) lines { return b.restored(l, b.find(l), former) })
	})
}
