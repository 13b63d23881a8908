package catalog

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
)

func upper(n int) *int { return &n }

// resolved resolves one entity with the given structure.
func resolved(t *testing.T, s Structure) *Entity {
	t.Helper()
	c, errs := Resolve(Definitions{Entities: []Entity{{Name: "e", Structure: s}, {Name: "other"}}})
	if errs != nil {
		t.Fatal(errs)
	}
	return &c.Entities[0]
}

func typed(name, typ string, rules ...Rule) Attribute {
	return Attribute{Name: name, Type: Type{Name: typ, Rules: rules}}
}

func TestTypes(t *testing.T) {
	tests := []struct {
		typ   string
		rules []Rule
		good  []any
		bad   []any
	}{
		{"string", nil, []any{"", "a"}, []any{int64(1), true, nil, []any{}}},
		{"string?", nil, []any{nil, "a"}, []any{int64(1)}},
		{"int", nil, []any{int64(1), 2.0, int64(-5)}, []any{"2", true, 1.5, nil}},
		{"float", nil, []any{1.5, int64(1)}, []any{"1.5", false}},
		{"number", nil, []any{1.5, int64(1)}, []any{"1"}},
		{"bool", nil, []any{true, false}, []any{"true", int64(0)}},
		{"dict", nil, []any{map[string]any{}}, []any{[]any{}, "a"}},
		{"int[]", nil, []any{[]any{}, []any{int64(1)}}, []any{nil, int64(1), []any{"a"}, []any{nil}}},
		{"string[]?", nil, []any{nil, []any{"a"}}, []any{"a"}},
		{"int", []Rule{{"ge", int64(1)}, {"lt", int64(4)}}, []any{int64(1), int64(3)}, []any{int64(0), int64(4)}},
		{"float", []Rule{{"gt", 0.5}, {"le", 1.5}}, []any{0.6, 1.5}, []any{0.5, 1.6}},
		{"float", []Rule{{"multiple_of", 0.1}}, []any{0.3, int64(2)}, []any{0.25}},
		{"number", []Rule{{"max_digits", int64(3)}, {"decimal_places", int64(1)}}, []any{12.5, int64(123), 0.5},
			[]any{123.5, 1.25, int64(1234)}},
		{"int[]", []Rule{{"ge", int64(0)}, {"lt", int64(4096)}}, []any{[]any{int64(0), int64(4095)}},
			[]any{[]any{int64(4096)}}},
		{"string[]", []Rule{{"min_items", int64(1)}, {"max_items", int64(2)}, {"unique", true}}, []any{[]any{"a", "b"}},
			[]any{[]any{}, []any{"a", "b", "c"}, []any{"a", "a"}}},
		{"string", []Rule{{"min_length", int64(2)}, {"max_length", int64(3)}}, []any{"éé", "abc"}, []any{"é", "abcd"}},
		// Anchored at the start only (lsm.md 2).
		{"string", []Rule{{"regex", "[a-z]{3}"}}, []any{"abc", "abcd"}, []any{"1abc", "ab"}},
		{"string", []Rule{{"regex", "a|b"}}, []any{"ax", "bx"}, []any{"xb"}},
		{"string", []Rule{{"regex", "^[a-z]{3}$"}}, []any{"abc"}, []any{"abcd"}},
		{"string", []Rule{{"pattern", "[a-z]{3}"}}, []any{"1abc1"}, []any{"ab1c"}},
		{"string", []Rule{{"enum", []any{"red", "green"}}}, []any{"red"}, []any{"blue"}},
		{"int", []Rule{{"enum", []any{int64(1), 2.0}}}, []any{int64(2)}, []any{int64(3)}},
		{"ipv4_address", nil, []any{"10.0.0.3"}, []any{"10.0.0.300", "10.0.0.0/24", "::1", "010.0.0.1"}},
		{"ipv6_address", nil, []any{"::1", "fe80::1%eth0"}, []any{"10.0.0.1"}},
		{"ip_address", nil, []any{"::1", "10.0.0.1"}, []any{"a"}},
		{"ipv4_network", nil, []any{"10.0.0.0/24", "10.0.0.1", "10.0.0.0/255.255.255.0", "10.0.0.0/0.0.0.255"},
			[]any{"10.0.0.1/24", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/255.0.255.0"}},
		{"ipv4_interface", nil, []any{"10.0.0.1/24"}, []any{"10.0.0.1/x", "::1/64"}},
		{"ip_network", nil, []any{"fd00::/64"}, []any{"fd00::1/64"}},
		{"mac_address", nil, []any{"52:54:00:12:34:5f"}, []any{"52:54:00:12:34"}},
		{"hostname", nil, []any{"a-b.example.com"}, []any{"-a", "a_b", "a..b", ""}},
		{"email", nil, []any{"a@b.example"}, []any{"a@b", "b.example", "a b@c.example"}},
		{"url", nil, []any{"ftp://a/b"}, []any{"a/b", "http:"}},
		{"http_url", nil, []any{"https://a/b"}, []any{"ftp://a/b"}},
		{"uuid", nil, []any{"123e4567-e89b-12d3-a456-426614174000", "{123E4567e89b12d3a456426614174000}"},
			[]any{"123e4567-e89b-12d3-a456", "123e4567e89b-12d3-a456-426614174000"}},
		{"uuid4", nil, []any{"f47ac10b-58cc-4372-a567-0e02b2c3d479"}, []any{"123e4567-e89b-12d3-a456-426614174000"}},
		{"date", nil, []any{"2026-02-28"}, []any{"2026-02-30", "28.2.2026"}},
		{"time", nil, []any{"15:04", "15:04:05.25Z"}, []any{"25:00"}},
		{"datetime", nil, []any{"2026-02-28T15:04:05Z", "2026-02-28 15:04"}, []any{"2026-02-28"}},
		{"duration", nil, []any{"P1DT12H", "PT0.5S", "1 day, 02:03:04", "-1:02:03"}, []any{"P", "PT", "1h"}},
		{"port", nil, []any{int64(1), int64(65535)}, []any{int64(0), int64(65536)}},
	}
	for _, tt := range tests {
		e := resolved(t, Structure{Attributes: []Attribute{typed("x", tt.typ, tt.rules...)}})
		for _, v := range tt.good {
			if _, m := e.Check(map[string]any{"x": v}); m != nil {
				t.Errorf("%s %v: %v is refused: %v", tt.typ, tt.rules, v, m)
			}
		}
		for _, v := range tt.bad {
			if _, m := e.Check(map[string]any{"x": v}); m == nil {
				t.Errorf("%s %v: %#v is let pass", tt.typ, tt.rules, v)
			}
		}
	}
}

func TestInheritedRulesAllHold(t *testing.T) {
	c, errs := Resolve(Definitions{
		Types: []TypeDefinition{{Name: "small", Extends: "positive", Rules: []Rule{{"le", int64(9)}}},
			{Name: "positive", Extends: "int", Rules: []Rule{{"gt", int64(0)}}}},
		Entities: []Entity{{Name: "e", Structure: Structure{
			Attributes: []Attribute{typed("x", "small[]", Rule{"multiple_of", int64(3)})}}}},
	})
	if errs != nil {
		t.Fatal(errs)
	}
	for value, good := range map[int64]bool{0: false, 3: true, 4: false, 9: true, 12: false} {
		if _, m := c.Entities[0].Check(map[string]any{"x": []any{value}}); (m == nil) != good {
			t.Errorf("%d: %v", value, m)
		}
	}
}

// folder is the entity of that name in the conformance vectors.
func folder() Structure {
	withDefault := func(a Attribute, value any) Attribute {
		a.HasDefault, a.Default = true, value
		return a
	}
	uid := withDefault(typed("uid", "int?"), nil)
	uid.Modifier = Allocated
	return Structure{
		Attributes: []Attribute{typed("path", "string")},
		Embedded: []Embedded{
			{Name: "files", Modifier: Changing, Upper: upper(3), Key: []string{"name"},
				Structure: Structure{Attributes: []Attribute{
					typed("name", "string"), withDefault(typed("mode", "int"), int64(644)), typed("content",
						"string"), uid}}},
			{Name: "disks", Lower: 1, Key: []string{"slot"},
				Structure: Structure{Attributes: []Attribute{typed("slot", "int"), typed("quota", "int")}}},
			{Name: "backup", Modifier: Changing, Upper: upper(1), Structure: Structure{Attributes: []Attribute{
				typed("target", "string"), withDefault(typed("keep", "int"), int64(7))}}},
		},
		Relations: []Relation{{Name: "peers", Entity: "other", Upper: upper(2)},
			{Name: "parent", Entity: "other", Upper: upper(1)}},
	}
}

func TestCheckCompletes(t *testing.T) {
	given := map[string]any{"path": "/x", "disks": []any{map[string]any{"slot": 1.0, "quota": int64(5)}},
		"backup": map[string]any{"target": "nas"},
		"files":  []any{map[string]any{"name": "f", "content": "c"}}, "parent": "id1"}
	got, errs := resolved(t, folder()).Check(given)
	if errs != nil {
		t.Fatal(errs)
	}
	want := map[string]any{"path": "/x", "disks": []any{map[string]any{"slot": int64(1), "quota": int64(5)}},
		"backup": map[string]any{"target": "nas", "keep": int64(7)},
		"files": []any{map[string]any{"name": "f", "content": "c", "mode": int64(644),
			"uid": nil}}, "parent": "id1", "peers": []any{}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if len(given) != 5 || len(given["backup"].(map[string]any)) != 1 {
		t.Error("the attributes given were changed")
	}
	// What is complete stays as it is.
	again, errs := resolved(t, folder()).Check(got)
	if d := cmp.Diff(got, again); d != "" || errs != nil {
		t.Errorf("%v\n%s", errs, d)
	}
}

func TestCheckErrors(t *testing.T) {
	disk := func(slot int64) any { return map[string]any{"slot": slot, "quota": int64(1)} }
	file := func(name string) any { return map[string]any{"name": name, "content": ""} }
	tests := map[string]struct {
		change map[string]any // nil: leave out
		path   string
		code   invalid.Code
		text   string
	}{
		"unknown":        {map[string]any{"pathh": "x"}, "pathh", UnknownAttribute, `did you mean "path"?`},
		"missing":        {map[string]any{"path": nil}, "path", TypeMismatch, "is null"},
		"a missing list": {map[string]any{"disks": nil}, "disks", TypeMismatch, "is null, not a list"},
		"too few":        {map[string]any{"disks": []any{}}, "disks", LimitViolation, "1 or more"},
		"too many": {map[string]any{"files": []any{file("a"), file("b"), file("c"), file("d")}}, "files",
			LimitViolation, "from 0 to 3"},
		"the same key": {map[string]any{"disks": []any{disk(1), disk(2), disk(1)}}, "disks", DuplicateKey,
			"elements 0 and 2"},
		"in a child": {map[string]any{"disks": []any{disk(1), map[string]any{"slot": "a", "quota": int64(1)}}},
			"disks[1].slot", TypeMismatch, "whole number"},
		"missing in a child": {map[string]any{"disks": []any{map[string]any{"slot": int64(1)}}}, "disks[0].quota",
			MissingAttribute, "is required"},
		"no list":       {map[string]any{"disks": disk(1)}, "disks", TypeMismatch, "not a list"},
		"no object":     {map[string]any{"disks": []any{"a"}}, "disks[0]", TypeMismatch, "not an object"},
		"one in a list": {map[string]any{"backup": []any{}}, "backup", TypeMismatch, "without a list around it"},
		"peers":         {map[string]any{"peers": []any{"a", "b", "c"}}, "peers", LimitViolation, "from 0 to 2"},
		"a peer twice":  {map[string]any{"peers": []any{"a", "a"}}, "peers", DuplicateKey, "twice"},
		"no id":         {map[string]any{"parent": int64(3)}, "parent", TypeMismatch, "id of a service"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			given := map[string]any{"path": "/x", "disks": []any{disk(1)}}
			for k, v := range tt.change {
				given[k] = v
			}
			_, errs := resolved(t, folder()).Check(given)
			if len(errs) != 1 || errs[0].Attribute != tt.path || errs[0].Code != tt.code ||
				!strings.Contains(errs[0].Message, tt.text) {
				t.Errorf("got %v, want %s at %s: %s", errs, tt.code, tt.path, tt.text)
			}
		})
	}
	if _, errs := resolved(t, folder()).Check(nil); len(errs) != 2 || errs[1].Code != MissingAttribute ||
		errs[1].Attribute != "disks" {
		t.Errorf("nothing given: %v", errs)
	}
}

func TestSensitiveValuesAreNotTold(t *testing.T) {
	a := typed("pin", "string", Rule{"regex", "^[0-9]+$"})
	a.Sensitive = true
	e := resolved(t, Structure{Attributes: []Attribute{a}})
	for _, v := range []any{"hunter2", int64(4711)} {
		if _, m := e.Check(map[string]any{"pin": v}); len(m) != 1 || strings.Contains(m[0].Message, "hunter2") ||
			strings.Contains(m[0].Message, "4711") {
			t.Errorf("got %v", m)
		}
	}
}

func TestReadOnly(t *testing.T) {
	e := resolved(t, folder())
	got := e.ReadOnly(map[string]any{"files": []any{map[string]any{"uid": nil}, map[string]any{"uid": int64(3)}}})
	if len(got) != 1 || got[0].Attribute != "files[1].uid" || got[0].Code != ReadOnly {
		t.Errorf("got %v", got)
	}
}

func TestValidation(t *testing.T) {
	rules, err := Validation("pydantic.conint[]", map[string]any{"ge": int64(0), "lt": int64(4096), "gt": nil})
	if d := cmp.Diff([]Rule{{"ge", int64(0)}, {"lt", int64(4096)}}, rules); d != "" || err != nil {
		t.Error(err, d)
	}
	rules, err = Validation("enum", map[string]any{"names": map[string]any{"b": "x", "a": "y"}, "value": "t"})
	if d := cmp.Diff([]Rule{{"enum", []any{"y", "x"}}}, rules); d != "" || err != nil {
		t.Error(err, d)
	}
	rules, err = Validation("ipaddress.IPv4Network?", nil)
	if d := cmp.Diff([]Rule{{"format", "ipv4_network"}}, rules); d != "" || err != nil {
		t.Error(err, d)
	}
	if _, err := Validation("pydantic.conint", map[string]any{"gee": int64(1)}); err == nil {
		t.Error("an unknown parameter is let pass")
	}
}

func TestParseDefinitionRefuses(t *testing.T) {
	good, err := resolved(t, folder()).Definition()
	if err != nil {
		t.Fatal(err)
	}
	if _, m := ParseDefinition(good); m != nil {
		t.Fatal(m)
	}
	for name, text := range map[string]string{
		"no JSON":      "x",
		"unknown key":  strings.Replace(good, `"version"`, `"verzion"`, 1),
		"unknown kind": strings.Replace(good, `"kind":"string"`, `"kind":"strin"`, 1),
		"more behind":  good + "{}",
		"bad rule": strings.Replace(good, `"kind":"int"`, `"kind":"int","rules":[{"rule":"ge","argument":"x"}]`,
			1),
		"bad default":   strings.Replace(good, `"default":644`, `"default":"x"`, 1),
		"bad modifier":  strings.Replace(good, `"rw+"`, `"w"`, 1),
		"bad section":   strings.Replace(good, `"services"`, `"serv"`, 1),
		"large numbers": strings.Replace(good, `"default":644`, `"default":1e999`, 1),
	} {
		if text == good {
			t.Fatalf("%s: nothing was changed", name)
		}
		if _, m := ParseDefinition(text); m == nil {
			t.Errorf("%s is let pass", name)
		}
	}
}

func TestDigestsTellEntitiesApart(t *testing.T) {
	a, b := resolved(t, folder()), resolved(t, folder())
	b.Attributes[0].Sensitive = true
	first, err1 := a.Digest()
	second, err2 := b.Digest()
	again, err3 := resolved(t, folder()).Digest()
	if err1 != nil || err2 != nil || err3 != nil || first == second || first != again {
		t.Error(first, second, again)
	}
}

func TestEntitiesThatDoubleAreBounded(t *testing.T) {
	d := Definitions{Entities: []Entity{{Name: "e0", Structure: Structure{Attributes: []Attribute{typed("x", "int")}}}}}
	for i := 1; i < 60; i++ {
		below := d.Entities[i-1].Name
		d.Entities = append(d.Entities, Entity{Name: "e" + strings.Repeat("i", i), Structure: Structure{
			Embedded: []Embedded{{Name: "a", Of: below, Upper: upper(1)}, {Name: "b", Of: below, Upper: upper(1)}}}})
	}
	_, errs := Resolve(d)
	if len(errs) == 0 || !strings.Contains(errs[0].Error(), "is the most") {
		t.Errorf("got %v", errs)
	}
}
