package converge

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/converge/ledger"
	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
)

// A resource that only got a new title goes on where the old one was, without an undo in between.
func TestANewTitleTakesOver(t *testing.T) {
	b := nodeOf(t, map[string]string{"/f": "old"})
	before := b.tree()
	b.apply(item("file[/f]", "content", "x"))
	was, err := os.Stat(b.real("/f"))
	if err != nil {
		t.Fatal(err)
	}
	// Looking hands nothing over.
	if r := b.inMode(Check, removal("file[/f]"), item("file[conf]", "path", "/f", "content", "x")); r[0].Status != Differs || r[1].Status != Unchanged {
		t.Errorf("%+v", r)
	}
	r := b.apply(removal("file[/f]"), item("file[conf]", "path", "/f", "content", "x"))
	if r[0].Status != Unchanged || r[1].Status != Unchanged {
		t.Errorf("%+v", r)
	}
	if now, err := os.Stat(b.real("/f")); err != nil || !os.SameFile(was, now) {
		t.Errorf("the file was replaced: %v", err)
	}
	b.tearDown()
	if diff := cmp.Diff(before, b.tree()); diff != "" {
		t.Error(diff)
	}
}

// A resource that turns to another object leaves the former one, and has changed even where the new one is as it should be.
func TestAMovedResourceHasChanged(t *testing.T) {
	b := nodeOf(t, map[string]string{"/f": "old", "/g": "x"})
	before := b.tree()
	b.apply(item("file[conf]", "path", "/f", "content", "x"))
	r := b.apply(item("file[conf]", "path", "/g", "content", "x"))[0]
	if want := []types.Difference{{Parameter: "object", Is: "/f", Should: "/g"}}; r.Status != Changed || !cmp.Equal(r.Differences, want) || b.get("/f") != "old" {
		t.Errorf("%+v, f %q", r, b.get("/f"))
	}
	if r := b.apply(item("file[conf]", "path", "/g", "content", "x"))[0]; r.Status != Unchanged {
		t.Errorf("%+v", r)
	}
	b.tearDown()
	if diff := cmp.Diff(before, b.tree()); diff != "" {
		t.Error(diff)
	}
}

// TestASettingWrittenAnotherWay: a setting whose separator or frame changes is found on other lines, so the former ones go, and what was there before
// slipway is back after the tear-down. Other blanks find the same line.
func TestASettingWrittenAnotherWay(t *testing.T) {
	for name, tt := range map[string]struct {
		file, parameter, value, want string
	}{
		"separator":             {"[s]\nk = 0\n", "key_val_separator", ":", "[s]\nk = 0\nk:v\n"},
		"separator, new file":   {"", "key_val_separator", ":", "[s]\nk:v\n"},
		"frame":                 {"[s]\nk = 0\n", "section_prefix", "<[", "[s]\nk = 0\n\n<[s]\nk = v\n"},
		"frame, new file":       {"", "section_suffix", "]>", "[s]>\nk = v\n"},
		"blanks of a separator": {"[s]\nk = 0\n", "key_val_separator", "=", "[s]\nk = v\n"},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"/x.ini": tt.file}
			if tt.file == "" {
				files = nil
			}
			b := nodeOf(t, files)
			before := b.tree()
			setting := []any{"path", "/x.ini", "section", "s", "setting", "k", "value", "v"}
			b.apply(item("ini_setting[i]", setting...))
			b.apply(item("ini_setting[i]", append(setting, tt.parameter, tt.value)...))
			if is := b.get("/x.ini"); is != tt.want {
				t.Errorf("%q, want %q", is, tt.want)
			}
			b.tearDown()
			if diff := cmp.Diff(before, b.tree()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestSettingsOfAnOlderLedger: a setting that an earlier slipway wrote with another separator is not put back and applied once more.
func TestSettingsOfAnOlderLedger(t *testing.T) {
	b := nodeOf(t, map[string]string{"/x.ini": "k:0\n"})
	before := b.tree()
	setting := []any{"path", "/x.ini", "setting", "k", "key_val_separator", ":", "value"}
	b.apply(item("ini_setting[i]", append(setting, "v")...))
	written := b.get(ledger.Path)
	older := regexp.MustCompile(`"aim":"[^,]*",`).ReplaceAllString(written, "")
	if older == written {
		t.Fatalf("no aim in %s", written)
	}
	if err := os.WriteFile(b.real(ledger.Path), []byte(older), 0o600); err != nil {
		t.Fatal(err)
	}
	want := []types.Difference{{Parameter: "value", Is: "v", Should: "w"}}
	if r := b.apply(item("ini_setting[i]", append(setting, "w")...))[0]; r.Status != Changed || !cmp.Equal(r.Differences, want) {
		t.Errorf("%+v", r)
	}
	b.tearDown()
	if diff := cmp.Diff(before, b.tree()); diff != "" {
		t.Error(diff)
	}
}

func TestOneObjectHasOneResource(t *testing.T) {
	for name, test := range map[string]struct {
		first, then []Item
		want        string // of the last item
	}{
		"in one manifest":    {then: []Item{item("file[/f]", "content", "1"), item("file[b]", "path", "/f", "content", "2")}, want: "file[/f] looks after /f already; make one"},
		"in the ledger":      {first: []Item{item("file[/f]", "content", "1")}, then: []Item{item("file[b]", "path", "/f", "content", "2")}, want: "file[/f] looks after /f already; make one"},
		"is left first":      {first: []Item{item("file[a]", "path", "/f", "content", "1")}, then: []Item{item("file[a]", "path", "/g", "content", "1"), item("file[b]", "path", "/f", "content", "2")}},
		"two trade places":   {first: []Item{item("file[a]", "path", "/f", "content", "1"), item("file[b]", "path", "/g", "content", "2")}, then: []Item{item("file[a]", "path", "/g", "content", "1"), item("file[b]", "path", "/f", "content", "2")}},
		"is left afterwards": {first: []Item{item("file[a]", "path", "/f", "content", "1")}, then: []Item{item("file[/f]", "content", "2"), item("file[a]", "path", "/g", "content", "1")}},
		"is removed":         {first: []Item{item("file[a]", "path", "/f", "content", "1")}, then: []Item{removal("file[a]"), item("file[/f]", "content", "2")}},
		"by another type":    {then: []Item{item("file[/f]", "mode", "0600"), item("ini_setting[a]", "path", "/f", "setting", "a", "value", "1")}},
	} {
		t.Run(name, func(t *testing.T) {
			b := nodeOf(t, map[string]string{"/f": "old\n"})
			before := b.tree()
			b.apply(test.first...)
			rs := b.apply(test.then...)
			last := rs[len(rs)-1]
			if failed := last.Status == Failed; failed != (test.want != "") || !strings.Contains(last.Message, test.want) {
				t.Errorf("%+v, want %q", last, test.want)
			}
			b.tearDown()
			if diff := cmp.Diff(before, b.tree()); diff != "" {
				t.Error(diff)
			}
		})
	}
	b := nodeOf(t, map[string]string{"/f": "old"})
	b.apply(item("file[/f]", "content", "1"))
	var got []Result
	Run(t.Context(), b.System, Manifest{Protocol: Protocol, Site: "two", Run: "r", Mode: Apply, Items: []Item{item("file[b]", "path", "/f", "content", "2")}},
		func(r Result) { got = append(got, r) })
	if !strings.Contains(got[0].Message, `file[/f] looks after /f already, for the site "one"`) || b.get("/f") != "1" {
		t.Errorf("%+v", got)
	}
}

// Removals come in the order of a tear-down, whatever order the controller put them in, which knows nothing of the order in which things were done.
func TestRemovalsGoNewestFirst(t *testing.T) {
	b := newBench(t)
	b.converge(Apply, item("plain[b]", "value", "1"), item("plain[c]", "value", "1"), item("plain[a]", "value", "1"), item("plain[d]", "value", "1"))
	results, _ := b.converge(Apply, removal("plain[d]").requires("plain[x]"), removal("plain[c]"), removal("plain[never]"), item("plain[x]", "value", "1"),
		removal("plain[b]"), removal("plain[a]"))
	b.wantStatuses(results, "plain[d] changed", "plain[a] changed", "plain[c] changed", "plain[x] changed", "plain[b] changed", "plain[never] unchanged")
}

// Entries of one file may go in any order: the last one takes the file along that slipway made, with its sections.
func TestEntriesOfOneFileGoInAnyOrder(t *testing.T) {
	setting := func(title, section string) Item {
		return item("ini_setting["+title+"]", "path", "/x.ini", "section", section, "setting", title, "value", "1")
	}
	items := []Item{setting("a", "one"), setting("b", "one"), setting("c", "two"), setting("d", "")}
	orders := [][]int{{0, 1, 2, 3}, {3, 2, 1, 0}, {1, 3, 0, 2}, {2, 0, 3, 1}}
	for _, files := range []map[string]string{{}, {"/x.ini": ""}, {"/x.ini": "z=1\n"}, {"/x.ini": "z = 1\n[one]\ny=2"}} {
		for _, order := range orders {
			b := nodeOf(t, files)
			before := b.tree()
			for _, i := range items { // each in a run of its own
				if r := b.apply(i)[0]; r.Status != Changed {
					t.Fatalf("%+v", r)
				}
			}
			for _, i := range order {
				if r := b.apply(removal(string(items[i].ID())))[0]; r.Status != Changed {
					t.Fatalf("%+v", r)
				}
			}
			b.tearDown()
			if diff := cmp.Diff(before, b.tree()); diff != "" {
				t.Errorf("%v %v:\n%s", files, order, diff)
			}
		}
	}
}

// The usual pair, a file for the mode and settings in it: the file's resource may go first.
func TestAFileWithSettingsIsHandedOver(t *testing.T) {
	b := nodeOf(t, nil)
	before := b.tree()
	b.apply(item("file[/x.ini]", "mode", "0640"), item("ini_setting[a]", "path", "/x.ini", "setting", "a", "value", "1"))
	b.apply(removal("file[/x.ini]"))
	if !b.there("/x.ini") || b.get("/x.ini") != "a = 1\n" {
		t.Error("the setting went with the resource of its file")
	}
	b.apply(removal("ini_setting[a]"))
	b.tearDown()
	if diff := cmp.Diff(before, b.tree()); diff != "" {
		t.Error(diff)
	}
}
