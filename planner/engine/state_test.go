package engine

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"testing"
)

// What an earlier slipway has in the private state of a deployment is read and written byte for byte.
func TestStateIsThatOfEarlierVersions(t *testing.T) {
	text, err := os.ReadFile("../../test/golden/testdata/state.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Resources []struct {
			Type      string
			Instances []struct{ Private []byte }
		}
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, r := range file.Resources {
		if r.Type != "slipway_deployment" {
			continue
		}
		for _, i := range r.Instances {
			found++
			var private map[string]string
			if err := json.Unmarshal(i.Private, &private); err != nil {
				t.Fatal(err)
			}
			want, err := base64.StdEncoding.DecodeString(private["applied"])
			if err != nil {
				t.Fatal(err)
			}
			var s State
			if err := s.UnmarshalJSON(want); err != nil {
				t.Fatal(err)
			}
			if got, err := s.MarshalJSON(); err != nil || string(got) != string(want) {
				t.Errorf("%v: got\n%s\nwant\n%s", err, got, want)
			}
		}
	}
	if found == 0 {
		t.Error("there is no deployment")
	}
}
