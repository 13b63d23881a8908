package edit_test

import (
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/lifecycle/edit"
)

func TestMigrate(t *testing.T) {
	type sets = map[string]map[string]any
	from := entity(t, "share")
	to := func(change func(*catalog.Entity)) *catalog.Entity {
		e := entity(t, "share")
		e.Version = 2
		if change != nil {
			change(e)
		}
		return e
	}
	prior := sets{"active": {"name": "n"}, "candidate": nil}
	for _, c := range []struct {
		name  string
		to    *catalog.Entity
		given sets
		want  string
	}{
		{"fine", to(nil), sets{"active": {"name": "n", "size": int64(1), "vni": int64(5)}}, ""},
		{"the new schema", to(nil), sets{"active": {"name": "n", "colour": "red"}}, "active.size missing_attribute|active.colour unknown_attribute"},
		{"every set", to(nil), sets{"rollback": {"name": "n", "size": "1"}, "candidate": {"name": "n"}}, "candidate.size missing_attribute|rollback.size type_mismatch"},
		{"no set", to(nil), sets{}, " missing_attribute"},
		{"no such set", to(nil), sets{"old": {}}, "old bad_value"},
		{"the identity stays", to(nil), sets{"active": {"name": "m", "size": int64(1)}}, "active.name identity_immutable"},
		{"the identity attribute stays", to(func(e *catalog.Entity) { e.Identity = "" }), sets{"active": {"name": "m", "size": int64(1)}}, " identity_immutable"},
		{"the same version", from, sets{"active": {"name": "n", "size": int64(1)}}, " bad_value"},
		{"another entity", to(func(e *catalog.Entity) { e.Name = "other" }), sets{"active": {"name": "n", "size": int64(1)}}, " bad_value"},
	} {
		out, mistakes := edit.Migrate(from, c.to, prior, c.given)
		var got []string
		for _, m := range mistakes {
			got = append(got, m.Path+" "+string(m.Code))
		}
		if text := strings.Join(got, "|"); text != c.want || (out == nil) != (c.want != "") {
			t.Errorf("%s: got %s, want %s", c.name, text, c.want)
		}
		if c.want == "" && (encode(t, out["active"]["site"]) != `"lon"` || encode(t, out["active"]["vni"]) != "5" || len(out) != 1) {
			t.Error(out)
		}
	}
}
