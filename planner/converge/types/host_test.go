package types

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system/systemtest"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

func TestHost(t *testing.T) {
	for _, tt := range []struct {
		name, hosts, title string
		parameters         resource.Parameters
		diffs              []Difference
		want               string
	}{
		{"new", systemtest.DebianHosts, "web", resource.Parameters{"ip": "10.0.0.2", "host_aliases": []any{"w1", "w2"}, "comment": "front"},
			[]Difference{{"ensure", "absent", "present"}}, systemtest.DebianHosts + "10.0.0.2\tweb\tw1 w2\t# front\n"},
		{"as it should be", systemtest.DebianHosts, "db", resource.Parameters{"ip": "10.0.0.1"}, nil, systemtest.DebianHosts},
		{"other address, the rest of the line stays", systemtest.DebianHosts, "db", resource.Parameters{"ip": "10.0.0.9"},
			[]Difference{{"ip", "10.0.0.1", "10.0.0.9"}}, strings.Replace(systemtest.DebianHosts, "10.0.0.1  db db.example # primary", "10.0.0.9\tdb\tdb.example\t# primary", 1)},
		{"first line of a name", systemtest.DebianHosts, "localhost", resource.Parameters{"ip": "127.0.0.2"},
			[]Difference{{"ip", "127.0.0.1", "127.0.0.2"}}, strings.Replace(systemtest.DebianHosts, "127.0.0.1\t", "127.0.0.2\t", 1)},
		{"an alias is not the name", systemtest.DebianHosts, "db.example", resource.Parameters{"ensure": "absent"}, nil, systemtest.DebianHosts},
		{"absent, every line", systemtest.DebianHosts, "LOCALHOST", resource.Parameters{"ensure": "absent"},
			[]Difference{{"ensure", "present", "absent"}}, strings.SplitAfterN(systemtest.DebianHosts, "\n", 3)[2]},
		{"no comment, no aliases", systemtest.DebianHosts, "db", resource.Parameters{"ip": "10.0.0.1", "comment": "", "host_aliases": []any{}},
			[]Difference{{"host_aliases", "db.example", ""}, {"comment", "primary", ""}}, strings.Replace(systemtest.DebianHosts, "10.0.0.1  db db.example # primary", "10.0.0.1\tdb", 1)},
		{"duplicates, one remains", "10.0.0.8 db\n" + systemtest.DebianHosts + "10.0.0.1 db\n", "db", resource.Parameters{"ip": "10.0.0.1"},
			[]Difference{{"ip", "10.0.0.8", "10.0.0.1"}, {"ip", "on 3 lines", "on one line"}},
			"10.0.0.1\tdb\n" + strings.Replace(systemtest.DebianHosts, "10.0.0.1  db db.example # primary\n", "", 1)},
		{"duplicates of the right line", "10.0.0.1 db\n10.0.0.1 db\n", "db", resource.Parameters{"ip": "10.0.0.1"},
			[]Difference{{"ip", "on 2 lines", "on one line"}}, "10.0.0.1 db\n"},
		{"the address of the other kind stays", systemtest.DebianHosts, "localhost", resource.Parameters{"ip": "::2"},
			[]Difference{{"ip", "::1", "::2"}}, strings.Replace(systemtest.DebianHosts, "::1 localhost ip6-localhost", "::2\tlocalhost\tip6-localhost", 1)},
		{"no address of the kind", "10.0.0.1 db a\n10.0.0.2 db\n", "db", resource.Parameters{"ip": "fe80::1"},
			[]Difference{{"ip", "10.0.0.1", "fe80::1"}, {"ip", "on 2 lines", "on one line"}}, "fe80::1\tdb\ta\n"},
		{"sensitive", systemtest.DebianHosts, "db", resource.Parameters{"ip": "10.0.0.1", "comment": "hush", "sensitive": true},
			[]Difference{{"comment", "primary", "hush"}}, strings.Replace(systemtest.DebianHosts, "10.0.0.1  db db.example # primary", "10.0.0.1\tdb\tdb.example\t# hush", 1)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := folder(t, map[string]string{"etc/hosts": tt.hosts})
			was := systemtest.Inventory(t, s.Root)
			r := res(t, hostType{}, tt.title, tt.parameters)
			diffs, err := hostType{}.Check(t.Context(), s, r)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.diffs, diffs); diff != "" {
				t.Error(diff)
			}
			s.ID = r.ID()
			before := applied(t, s, hostType{}, r)
			content, err := s.ReadFile("/etc/hosts")
			if err != nil || string(content) != tt.want {
				t.Errorf("%v, got\n%s\nwant\n%s", err, content, tt.want)
			}
			if r.Sensitive() && strings.Contains(string(before), "primary") {
				t.Errorf("the ledger would hold %s", before)
			}
			undone(t, s, hostType{}, r, before)
			delete(was, "/var")
			now := systemtest.Inventory(t, s.Root)
			delete(now, "/var")
			delete(now, "/var/lib")
			if diff := cmp.Diff(was, now); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestHostInAnEmptySandbox(t *testing.T) {
	s := folder(t, nil)
	checkUndo(t, s, []change{{hostType{}, res(t, hostType{}, "web", resource.Parameters{"ip": "10.0.0.2"})}}, "/etc/hosts", "")
}

// A line that another one adds for the name while slipway's is there stays, and each that was there before comes back once.
func TestHostUndoLeavesForeignDuplicates(t *testing.T) {
	s := folder(t, map[string]string{"etc/hosts": "10.0.0.8 db\n# note\n10.0.0.9 db\n10.0.0.9 db\n::9 db\n"})
	r := res(t, hostType{}, "db", resource.Parameters{"ip": "10.0.0.1"})
	before := applied(t, s, hostType{}, r)
	systemtest.Edit(t, s.Root, "/etc/hosts", "::9 db\n", "::8 db\n10.7.7.7 db\n")
	undone(t, s, hostType{}, r, before)
	const want = "10.0.0.8 db\n# note\n10.0.0.9 db\n10.0.0.9 db\n::8 db\n10.7.7.7 db\n"
	if got, err := s.ReadFile("/etc/hosts"); err != nil || string(got) != want {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}

// JSON cannot hold a line that is not UTF-8, and it comes back all the same.
func TestHostNotUTF8(t *testing.T) {
	const latin1 = "10.0.0.1 db # Datenbankserver f\xfcr alle\n"
	s := folder(t, map[string]string{"etc/hosts": latin1})
	r := res(t, hostType{}, "db", resource.Parameters{"ensure": "absent"})
	s.ID = r.ID()
	undone(t, s, hostType{}, r, applied(t, s, hostType{}, r))
	if content, err := s.ReadFile("/etc/hosts"); err != nil || string(content) != latin1 {
		t.Errorf("%q, %v", content, err)
	}
}

func TestHostSchema(t *testing.T) {
	for _, tt := range []struct {
		title      string
		parameters resource.Parameters
		want       string
	}{
		{"web", nil, "ip: is required unless ensure is absent"},
		{"web", resource.Parameters{"ip": "10.0.0"}, `ip: "10.0.0" is not an IPv4 or IPv6 address`},
		{"web", resource.Parameters{"ip": "10.0.0.1", "host_aliases": "a b"}, `host_aliases: "a b" is not a host name`},
		{"web", resource.Parameters{"ip": "10.0.0.1", "comment": "a\nb"}, "comment: contains a line break"},
		{"a#b", resource.Parameters{"ip": "10.0.0.1"}, `title: "a#b" is not a host name`},
	} {
		errs := hostType{}.Schema().Validate(resource.Resource{Type: "host", Title: tt.title, Parameters: tt.parameters})
		if len(errs) != 1 || !strings.HasPrefix(errs[0].Error(), tt.want) {
			t.Errorf("%s %v: %v, want %q", tt.title, tt.parameters, errs, tt.want)
		}
	}
}

var hostFragments = []string{"", "# note", "127.0.0.1 localhost", "::1\tlocalhost x", "10.0.0.1 db a b # c", "10.0.0.2 DB", "junk", " 10.0.0.3 web", "10.0.0.4 web # \r"}

func TestHostUndoProperty(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 3))
		text := randomText(r, hostFragments)
		s := folder(t, map[string]string{"etc/hosts": text})
		var changes []change
		for range 1 + r.IntN(3) {
			p := resource.Parameters{"ip": pick(r, "10.0.0.1", "10.9.9.9", "fe80::1")}
			if r.IntN(3) == 0 {
				p = resource.Parameters{"ensure": "absent"}
			}
			if r.IntN(3) == 0 {
				p["host_aliases"] = pick[any](r, "one", []any{"a", "b"}, []any{})
			}
			title := pick(r, "localhost", "db", "web", "new", "newer")
			if !hasTitle(changes, title) {
				changes = append(changes, change{hostType{}, res(t, hostType{}, title, p)})
			}
		}
		checkUndo(t, s, changes, "/etc/hosts", pick(r, "", "10.7.7.7 foreign\n"))
		if t.Failed() {
			t.Fatalf("seed %d: %q", seed, text)
		}
	}
}

// What others add, take out or change among the lines of other names stays as they left it, and so does its order among the lines that come back.
func TestHostUndoAmongForeignEdits(t *testing.T) {
	for seed := range uint64(6000) {
		r := rand.New(rand.NewPCG(seed, 4))
		text := randomText(r, hostFragments)
		type applied struct {
			title, family string
			former        []block
		}
		var changes []applied
		l := parseLines([]byte(text))
		for range 1 + r.IntN(3) {
			p := pick(r, resource.Parameters{"ip": "10.9.9.9"}, resource.Parameters{"ip": "fe80::1"}, resource.Parameters{"ensure": "absent"})
			title := pick(r, "localhost", "db", "web", "new")
			if slices.ContainsFunc(changes, func(c applied) bool { return c.title == title }) {
				continue
			}
			host := resource.Resource{Type: "host", Title: title, Parameters: p}
			changes = append(changes, applied{title, schema.HostFamily(host), l.blocks(findHost(title, schema.HostFamily(host))(l))})
			l = parseLines(hosts.set(l, hostOf(host)(l), host).bytes())
		}
		now, at, edit := l.bytes(), r.IntN(8), pick(r, "insert", "change", "delete")
		l = parseLines(editOthers(l, at, edit).bytes())
		for _, c := range slices.Backward(changes) {
			for range 2 {
				l = parseLines(hosts.undo(l, findHost(c.title, c.family)(l), c.former, nil).bytes())
			}
		}
		back := l.bytes()
		want, got := editOthers(parseLines([]byte(text)), at, edit), l
		if edit == "insert" { // beside lines that were not there, it may be above or below them
			if !slices.Contains(got.texts(span{0, len(got)}), foreignHost) {
				t.Fatalf("seed %d: %q, applied %q, lost the foreign line: %q", seed, text, now, back)
			}
			isForeign := func(x line) bool { return x.text == foreignHost }
			want, got = slices.DeleteFunc(want, isForeign), slices.DeleteFunc(got, isForeign)
		}
		all := func(l lines) []string { return l.texts(span{0, len(l)}) }
		diff := cmp.Diff(all(want), all(got))
		for other := range 8 { // of equal lines, any may be the one that was deleted
			if edit == "delete" && slices.Equal(all(editOthers(parseLines(now), other, edit)), all(editOthers(parseLines(now), at, edit))) &&
				slices.Equal(all(editOthers(parseLines([]byte(text)), other, edit)), all(got)) {
				diff = ""
			}
		}
		if diff != "" {
			t.Fatalf("seed %d: %q, applied %q, %s at %d: undo gives %q: %s", seed, text, now, edit, at, back, diff)
		}
	}
}

const foreignHost = "10.7.7.7 foreign"

// editOthers inserts, changes or deletes a line among those of names that the test does not look after.
func editOthers(l lines, at int, edit string) lines {
	var others []int
	for i, x := range l {
		if e, ok := hosts.parse(x.text); !ok || !slices.Contains([]string{"localhost", "db", "web", "new"}, strings.ToLower(e["name"])) {
			others = append(others, i)
		}
	}
	switch {
	case edit == "insert" && at < len(others):
		return l.insert(others[at], foreignHost)
	case edit == "insert":
		return l.insert(len(l), foreignHost)
	case len(others) == 0:
		return l
	case edit == "delete":
		i := others[at%len(others)]
		return l.remove(span{i, i + 1})
	}
	i := others[at%len(others)]
	return l.replace(span{i, i + 1}, "# changed")
}

func hasTitle(changes []change, title string) bool {
	for _, c := range changes {
		if c.Title == title {
			return true
		}
	}
	return false
}

func FuzzHosts(f *testing.F) {
	f.Add(systemtest.DebianHosts, "db", false)
	f.Add("a\r\n1 db", "db", true)
	f.Add("1 db\n2 db\r\n3 db\r", "db", true)
	f.Add("\n0 dB", "db", true)
	f.Fuzz(func(t *testing.T, text, title string, absent bool) {
		if schema.CheckHostName(title) != nil {
			t.Skip("not a host name")
		}
		r := resource.Resource{Type: "host", Title: title, Parameters: resource.Parameters{"ip": "10.0.0.1"}}
		if absent {
			r.Parameters["ensure"] = "absent"
		}
		fuzzEditor(t, text, findHost(title, schema.HostFamily(r)), func(l lines) lines { return hosts.set(l, hostOf(r)(l), r) }, func(l lines, former []block) lines {
			return hosts.undo(l, hostOf(r)(l), former, hosts.parts[1:])
		})
	})
}

// fuzzEditor applies an edit and undoes it, through the bytes of the file and the JSON of the ledger. What is applied must
// stay applied, and what is undone must be the same bytes.
func fuzzEditor(t *testing.T, text string, find func(lines) []span, apply func(lines) lines, undo func(lines, []block) lines) {
	t.Helper()
	l := parseLines([]byte(text))
	former := l.blocks(find(l))
	ledger, err := json.Marshal(former)
	if err != nil {
		t.Fatal(err)
	}
	var back []block
	if err := json.Unmarshal(ledger, &back); err != nil {
		t.Fatal(err)
	}
	edited := apply(l).bytes()
	if again := apply(parseLines(edited)).bytes(); string(again) != string(edited) {
		t.Fatalf("%q\nbecame %q\nthen   %q", text, edited, again)
	}
	if fmt.Sprint(former) != fmt.Sprint(back) {
		return // not UTF-8: JSON cannot hold it, see TestHostNotUTF8
	}
	if got := string(undo(parseLines(edited), back).bytes()); got != text {
		t.Fatalf("%q\nbecame %q\nand undone %q", text, edited, got)
	}
}

// TestUndoOfAHostLeavesTheRest: aliases that the resource never spoke of stay as others left them.
func TestUndoOfAHostLeavesTheRest(t *testing.T) {
	s := folder(t, map[string]string{"etc/hosts": "10.0.0.1  db # primary\n"})
	first := res(t, hostType{}, "db", resource.Parameters{"ip": "10.0.0.2"})
	before := applied(t, s, hostType{}, first)
	systemtest.Edit(t, s.Root, "/etc/hosts", "db", "db db1")
	before = updated(t, s, hostType{}, res(t, hostType{}, "db", resource.Parameters{"ip": "10.0.0.2", "comment": "slipway's"}), before)
	systemtest.Edit(t, s.Root, "/etc/hosts", "db1", "db1 db2")
	undone(t, s, hostType{}, first, before)
	if got, err := s.ReadFile("/etc/hosts"); err != nil || string(got) != "10.0.0.1\tdb\tdb1 db2\t# primary\n" {
		t.Errorf("%q, %v", got, err)
	}
}
