package sequence

import "testing"

func TestParseRequirement(t *testing.T) {
	tests := map[string]Requirement{
		"task:a":          {Task: "a"},
		"task:a:b":        {Task: "a:b"},
		"item:/a/b":       {Item: "/a/b"},
		"key:file=/a=b":   {Resource: Resource{"file", "/a=b"}},
		"item:relative":   {},
		"task:":           {},
		"key:=x":          {},
		"key:x=":          {},
		"key:x":           {},
		"notify":          {},
		"":                {},
		"other:something": {},
	}
	for text, want := range tests {
		got, err := ParseRequirement(text)
		if got != want || (err != nil) != (want == Requirement{}) {
			t.Errorf("%q: got %+v, %v", text, got, err)
		}
	}
}

func FuzzParseRequirement(f *testing.F) {
	for _, seed := range []string{"task:a", "item:/a/b", "key:t=x=y", "key:=", "item:", "x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseRequirement(text)
		if err != nil {
			return
		}
		if !r.valid() {
			t.Errorf("%q gives %+v, which is not valid", text, r)
		}
		if again, err := ParseRequirement(r.String()); err != nil || again != r {
			t.Errorf("%q is written %q, which gives %+v, %v", text, r, again, err)
		}
	})
}
