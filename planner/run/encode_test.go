package run

import (
	"encoding/json"
	"reflect"
	"testing"
)

// TestProgramAsJSON checks that a program is the same after it was encoded, names that look like an index included.
func TestProgramAsJSON(t *testing.T) {
	for seed := range uint64(200) {
		sc := randomScenario(seed)
		for i := range sc.site.Groups {
			if r := sc.site.Groups[i].Rolling; r != nil {
				r.Lock, r.Unlock = "~0", "~/drain"
			}
		}
		p, err := Compile(sc.site, sc.plan, sc.settings)
		if err != nil {
			t.Fatal(err)
		}
		type fields Program
		data, err := json.Marshal(fields(p))
		if err != nil {
			t.Fatal(err)
		}
		var want, got Program // an empty list or map may come back as nil
		if err := json.Unmarshal(data, (*fields)(&want)); err != nil {
			t.Fatal(err)
		}
		if data, err = json.Marshal(p); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, data)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: got\n%+v\nwant\n%+v\nfrom\n%s", seed, got, want, data)
		}
	}
}

// TestProgramRefused checks that what is no program of this version is an error.
func TestProgramRefused(t *testing.T) {
	for text, want := range map[string]string{
		`{"Version":2}`: "has version 2, this build reads 1",
		`{"Version":1,"Names":["a"],"Program":{"Idle":["~1"]}}`:  `cannot be read: it has no name "~1"`,
		`{"Version":1,"Names":["a"],"Program":{"Idle":["~-1"]}}`: `cannot be read: it has no name "~-1"`,
	} {
		if err := json.Unmarshal([]byte(text), new(Program)); err == nil || err.Error() != "the program of the run "+want {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}
