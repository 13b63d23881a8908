package converge

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/converge/ledger"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// of runs a session of a site.
func (b *sandbox) of(site string, c Manifest) []Result {
	b.t.Helper()
	c.Protocol, c.Site = Protocol, site
	if c.Run == "" {
		c.Run = "run of " + site
	}
	var results []Result
	if s := Run(b.t.Context(), b.System, c, func(r Result) { results = append(results, r) }); s.Error != nil {
		b.t.Fatalf("%s: %s", site, s.Error.Message)
	}
	return results
}

func (b *sandbox) wantAll(what string, want Status, results []Result) {
	b.t.Helper()
	for _, r := range results {
		if r.Status != want {
			b.t.Errorf("%s: %s is %s, want %s: %s %v", what, r.ID, r.Status, want, r.Message, r.Differences)
		}
	}
}

// shared are resources that two sites bring, on a node that has something of most of them.
func shared() (node map[string]string, items []Item) {
	setting := func(title, section string) Item {
		return item("ini_setting["+title+"]", "path", "/etc/x.ini", "section", section, "setting", title, "value", "1")
	}
	return map[string]string{"/etc/f": "original", "/etc/gone": "was here", "/etc/hosts": "127.0.0.1 localhost\n", "/l": "->etc"}, []Item{
		item("file[/etc/f]", "content", "new", "mode", "0600"), item("file[/srv]", "ensure", "directory"),
		item("file[/srv/app]", "content", "app").requires("file[/srv]"), item("file[/etc/gone]", "ensure", "absent"),
		item("file[/l]", "target", "srv"), item("file[by path]", "path", "/p", "content", "p"), setting("a", "one"), setting("b", "two"),
		item("host[web]", "ip", "192.0.2.1"), item("file_line[l]", "path", "/etc/lines", "line", "x"),
	}
}

// TestSitesShare: what two sites bring to a node with equal parameters is one resource. Either may go first: the other one's stays, without a difference,
// and with the last one what was there before slipway is back, also when a site left and came again in between.
func TestSitesShare(t *testing.T) {
	needRoot(t)
	for name, order := range map[string]string{
		"the first one goes first": "-one -two", "the first one goes last": "-two -one", "the first one leaves and comes again": "-one +one -two -one",
		"the second one leaves and comes again": "-two +two -one -two", "three": "+three -one -two -three",
	} {
		t.Run(name, func(t *testing.T) {
			for _, how := range []string{"tear-down", "removal"} {
				node, items := shared()
				b := nodeOf(t, node)
				before := b.tree()
				b.wantAll("first", Changed, b.of("one", Manifest{Mode: Apply, Items: items}))
				made := b.tree()
				b.wantAll("second", Unchanged, b.of("two", Manifest{Mode: Apply, Items: items}))
				have := map[string]bool{"one": true, "two": true}
				for step := range strings.FieldsSeq(order) {
					site := step[1:]
					switch {
					case step[0] == '+':
						b.wantAll(step, Unchanged, b.of(site, Manifest{Mode: Apply, Items: items}))
						have[site] = true
						continue
					case how == "tear-down":
						b.of(site, Manifest{Mode: Apply, TearDown: true})
					default:
						b.of(site, Manifest{Mode: Apply, Items: removals(items)})
					}
					delete(have, site)
					for other := range have {
						b.wantAll(step+": "+other, Unchanged, b.of(other, Manifest{Mode: Check, Items: items}))
					}
					if diff := cmp.Diff(withoutSlipway(made), withoutSlipway(b.tree())); len(have) > 0 && diff != "" {
						t.Errorf("%s, %s: %s", how, step, diff)
					}
				}
				if diff := cmp.Diff(before, b.tree()); diff != "" {
					t.Errorf("%s: after the last one: %s", how, diff)
				}
			}
		})
	}
}

func removals(items []Item) (out []Item) {
	for _, i := range items {
		out = append(out, removal(string(i.ID())))
	}
	return out
}

func withoutSlipway(tree map[string]string) map[string]string {
	out := maps.Clone(tree)
	maps.DeleteFunc(out, func(path, _ string) bool { return strings.HasPrefix(path, "/var") })
	return out
}

// TestSitesThatContradict: with other parameters, the resource of another site is an error in check and apply that names the site, and both values,
// but for those that are not to be seen; the node and the other site keep what they have.
func TestSitesThatContradict(t *testing.T) {
	long := strings.Repeat("long ", 100)
	for name, tt := range map[string]struct {
		theirs, ours Item
		want, never  string
	}{
		"a value": {item("file[/f]", "content", "1", "mode", "0644"), item("file[/f]", "content", "2", "mode", "0644"),
			`the site "one" has file[/f] on this node as well, with other parameters: content is "2" here and "1" there; ` +
				`write the same in both, or keep it in one of them`, "mode is"},
		"not set":    {item("file[/f]", "content", "1"), item("file[/f]", "content", "1", "mode", "0600"), `mode is "0600" here and not set there`, "content is"},
		"not here":   {item("file[/f]", "content", "1", "mode", "0600"), item("file[/f]", "content", "1"), `mode is not set here and "0600" there`, "content is"},
		"long":       {item("file[/f]", "content", long+"1"), item("file[/f]", "content", long+"2"), "content is 501 bytes {sha256}", "long "},
		"sensitive":  {item("file[/f]", "content", "hidden1", "sensitive", true), item("file[/f]", "content", "hidden2", "sensitive", true), "with other parameters, in what is sensitive", "hidden"},
		"one hidden": {item("file[/f]", "content", "hidden1", "sensitive", true), item("file[/f]", "content", "plain"), "content is (sensitive) here and (sensitive) there", "hidden1"},
		"ensure":     {item("file[/f]", "content", "1"), item("file[/f]", "ensure", "absent"), `ensure is "absent" here and not set there`, ""},
		"another path": {item("file[f]", "path", "/f", "content", "1"), item("file[f]", "path", "/g", "content", "1"),
			`path is "/g" here and "/f" there`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := nodeOf(t, map[string]string{"/f": "old"})
			before := b.tree()
			b.wantAll("first", Changed, b.of("one", Manifest{Mode: Apply, Items: []Item{tt.theirs}}))
			made := b.tree()
			for _, mode := range []Mode{Check, Apply} {
				r := b.of("two", Manifest{Mode: mode, Items: []Item{tt.ours}})[0]
				if r.Status != Failed || !strings.Contains(r.Message, tt.want) || tt.never != "" && strings.Contains(r.Message, tt.never) {
					t.Errorf("%s: %s: %s; want %q", mode, r.Status, r.Message, tt.want)
				}
			}
			if diff := cmp.Diff(withoutSlipway(made), withoutSlipway(b.tree())); diff != "" {
				t.Error(diff)
			}
			b.of("two", Manifest{Mode: Apply, TearDown: true})
			b.wantAll("the other one", Unchanged, b.of("one", Manifest{Mode: Check, Items: []Item{tt.theirs}}))
			b.of("one", Manifest{Mode: Apply, TearDown: true})
			if diff := cmp.Diff(before, b.tree()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestSitesThatWriteTheSameDifferently: what two sites write in different ways and mean the same is one resource, whoever came first.
func TestSitesThatWriteTheSameDifferently(t *testing.T) {
	long := strings.Repeat("long ", 100)
	for name, forms := range map[string][2]Item{
		"mode":        {item("file[/f]", "content", "1", "mode", "644"), item("file[/f]", "content", "1", "mode", "0644")},
		"long":        {item("file[/f]", "content", long, "mode", "644"), item("file[/f]", "content", long, "mode", "0644")},
		"ensure":      {item("file[/f]", "content", "1"), item("file[/f]", "content", "1", "ensure", "file")},
		"of a host":   {item("host[web]", "ip", "192.0.2.1"), item("host[web]", "ip", "192.0.2.1", "ensure", "present")},
		"of settings": {item("ini_setting[a]", "path", "/x", "setting", "a", "value", "1"), item("ini_setting[a]", "path", "/x", "setting", "a", "value", "1", "ensure", "present")},
	} {
		for _, forms := range [][2]Item{forms, {forms[1], forms[0]}} {
			t.Run(name, func(t *testing.T) {
				b := nodeOf(t, map[string]string{"/f": "old", "/etc/hosts": "127.0.0.1 localhost\n"})
				before := b.tree()
				one, two := Manifest{Mode: Apply, Items: forms[:1]}, Manifest{Mode: Apply, Items: forms[1:]}
				b.wantAll("first", Changed, b.of("one", one))
				b.wantAll("second", Unchanged, b.of("two", two))
				b.wantAll("the first again", Unchanged, b.of("one", one))
				b.wantAll("the second, checked", Unchanged, b.of("two", Manifest{Mode: Check, Items: forms[1:]}))
				b.wantAll("without the first", Unchanged, b.of("one", Manifest{Mode: Apply, TearDown: true}))
				b.of("two", Manifest{Mode: Apply, TearDown: true})
				if diff := cmp.Diff(withoutSlipway(before), withoutSlipway(b.tree())); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

// TestSitesWithSecretsOfOneName: a secret of the same name and version in two sites need not be the same.
func TestSitesWithSecretsOfOneName(t *testing.T) {
	items := []Item{item("file[/f]", "content", "⟦secret:password@1⟧")}
	with := func(content string) Manifest {
		return Manifest{Mode: Apply, Items: items, Secrets: map[string]string{"password@1": content}}
	}
	b := nodeOf(t, nil)
	b.wantAll("first", Changed, b.of("one", with("password1")))
	if r := b.of("two", with("password2"))[0]; r.Status != Failed ||
		!strings.Contains(r.Message, "another content in the parameters that have secrets") || strings.Contains(r.Message, "password") {
		t.Errorf("%s: %s", r.Status, r.Message)
	}
	b.wantAll("the same one", Unchanged, b.of("two", with("password1")))
	for _, site := range []string{"one", "two"} {
		b.wantAll(site, Unchanged, b.of(site, Manifest{Mode: Check, Items: items}))
	}
}

// TestSitesWithSecretsOfOtherNames: what two sites bring with secrets of equal content is one resource, whatever the
// secrets are called, and whatever their versions are. A check without their contents sees no difference, and nothing
// of them is in the ledger. The rest of the resource counts, and so does where in it the secrets are.
func TestSitesWithSecretsOfOtherNames(t *testing.T) {
	const theirs, named, later = "⟦secret:password@1⟧", "⟦secret:db@1⟧", "⟦secret:password@7⟧"
	contents := map[string]string{"password@1": secretOneText, "db@1": secretOneText, "password@7": secretOneText, "other@1": secretTwoText,
		"part@1": secretOneText[:8], "end@1": secretOneText[8:]}
	file := func(content string, more ...any) Item {
		return item("file[/f]", append([]any{"content", content}, more...)...)
	}
	cron := func(environment ...any) Item {
		return item("cron[j]", "command", "/bin/true", "user", "root", "environment", environment)
	}
	for name, tt := range map[string]struct {
		theirs, ours Item
		want         string // of the error; empty: it is shared
	}{
		"another name":            {file(theirs), file(named), ""},
		"another version":         {file(theirs), file(later), ""},
		"within a text":           {file("p=" + theirs + "\n"), file("p=" + named + "\n"), ""},
		"another part of it":      {file(theirs), file("⟦secret:part@1⟧⟦secret:end@1⟧"), ""},
		"sensitive, as it is":     {file(theirs), file(later, "sensitive", true), ""},
		"in a list":               {cron("A=1", "P="+theirs), cron("A=1", "P="+named), ""},
		"another content":         {file(theirs), file("⟦secret:other@1⟧"), "with another content in the parameters that have secrets"},
		"another text around it":  {file("p=" + theirs), file("q=" + named), "with another content in the parameters that have secrets"},
		"another parameter":       {file(theirs, "mode", "0600"), file(named, "mode", "0640"), "with other parameters, in what is sensitive"},
		"at another place":        {cron("P="+theirs, "A=1"), cron("A=1", "P="+named), "with other parameters"},
		"no secret":               {file(theirs), file(secretOneText, "sensitive", true), "with other parameters"},
		"no secret of the others": {file(secretOneText, "sensitive", true), file(named), "with other parameters"},
	} {
		t.Run(name, func(t *testing.T) {
			b := nodeOf(t, map[string]string{"/etc/passwd": "root:x:0:0::/:/bin/sh\n", "/var/spool/cron/crontabs/x": ""})
			one := Manifest{Mode: Apply, Items: []Item{tt.theirs}, Secrets: contents}
			two := Manifest{Mode: Apply, Items: []Item{tt.ours}, Secrets: contents}
			b.wantAll("first", Changed, b.of("one", one))
			r := b.of("two", two)[0]
			if tt.want != "" {
				if r.Status != Failed || !strings.Contains(r.Message, tt.want) || strings.Contains(r.Message, secretOneText) {
					t.Errorf("%s: %s; want %q", r.Status, r.Message, tt.want)
				}
				return
			}
			b.wantAll("second", Unchanged, []Result{r})
			for range 2 {
				one.Mode, one.Secrets, two.Mode, two.Secrets = Check, nil, Check, nil
				b.wantAll("one", Unchanged, b.of("one", one))
				b.wantAll("two", Unchanged, b.of("two", two))
			}
			for path, content := range b.tree() {
				if strings.HasPrefix(path, "/var/lib") && strings.Contains(content, resource.SHA256(secretOneText)) ||
					strings.HasPrefix(path, "/var/lib") && strings.Contains(content, secretOneText) {
					t.Errorf("%s has the secret: %s", path, content)
				}
			}
			b.wantAll("one leaves", Unchanged, b.of("one", Manifest{Mode: Apply, Items: []Item{removal(string(tt.theirs.ID()))}}))
			b.wantAll("two leaves", Changed, b.of("two", Manifest{Mode: Apply, Items: []Item{removal(string(tt.ours.ID()))}}))
		})
	}
}

// TestSitesRepair: both sites see a drift of what they share, and one of them repairs it for both. A command that one has run is run.
func TestSitesRepair(t *testing.T) {
	needRoot(t)
	node, items := shared()
	b := nodeOf(t, node)
	b.Commands = machine(t).Execute
	items = append(items, b.exec("once", "command", "echo ran >>ran"))
	before := b.tree()
	b.of("one", Manifest{Mode: Apply, Items: items})
	b.wantAll("second", Unchanged, b.of("two", Manifest{Mode: Apply, Items: items}))
	b.put("/etc/f", "by hand")
	b.put("/etc/gone", "came back")
	drifted := func(site string) (ids []string) {
		for _, r := range b.of(site, Manifest{Mode: Check, Items: items}) {
			if r.Status == Differs {
				ids = append(ids, string(r.ID))
			}
		}
		return ids
	}
	want := []string{"file[/etc/f]", "file[/etc/gone]"}
	if one, two := drifted("one"), drifted("two"); !slices.Equal(one, want) || !slices.Equal(two, want) {
		t.Errorf("drift: %q and %q", one, two)
	}
	b.of("two", Manifest{Mode: Apply, Items: items})
	if one, two := drifted("one"), drifted("two"); len(one)+len(two) > 0 {
		t.Errorf("after the repair: %q and %q", one, two)
	}
	b.of("two", Manifest{Mode: Apply, TearDown: true})
	b.of("one", Manifest{Mode: Apply, TearDown: true})
	now := b.tree()
	// What came back by hand is what was there last, and the first site, which is the last to go, brings it back.
	before["/etc/gone"] = "-rw-r--r-- came back"
	if now["/ran"] != "-rw-r--r-- ran\n" {
		t.Errorf("the command has printed %q", now["/ran"])
	}
	delete(now, "/ran")
	if diff := cmp.Diff(before, now); diff != "" {
		t.Error(diff)
	}
}

// TestSitesShareOneFile: of entries in a file that slipway made, some are of both sites; the last one takes the file along, whichever it is.
func TestSitesShareOneFile(t *testing.T) {
	setting := func(title string) Item {
		return item("ini_setting["+title+"]", "path", "/x.ini", "section", "s", "setting", title, "value", "1")
	}
	one, two := []Item{setting("a"), setting("b")}, []Item{setting("b"), setting("c")}
	for _, order := range [][]string{{"one", "a", "two", "c", "one", "b", "two", "b"}, {"two", "b", "one", "a", "one", "b", "two", "c"},
		{"one", "b", "one", "a", "two", "c", "two", "b"}, {"one", "a", "two", "b", "two", "c", "one", "b"}} {
		b := nodeOf(t, nil)
		before := b.tree()
		b.of("one", Manifest{Mode: Apply, Items: one})
		b.of("two", Manifest{Mode: Apply, Items: two})
		for step := range slices.Chunk(order, 2) {
			b.of(step[0], Manifest{Mode: Apply, Items: []Item{removal("ini_setting[" + step[1] + "]")}})
		}
		if diff := cmp.Diff(before, b.tree()); diff != "" {
			t.Errorf("%v: %s", order, diff)
		}
	}
}

// TestSitesTakenBack: a run that shared a resource, or left one to another site, is taken back in the ledger, and the node stays as it is.
func TestSitesTakenBack(t *testing.T) {
	needRoot(t)
	node, items := shared()
	b := nodeOf(t, node)
	before := b.tree()
	b.of("one", Manifest{Mode: Apply, Items: items})
	made := withoutSlipway(b.tree())
	b.of("two", Manifest{Mode: Apply, Items: items, Run: "1", Images: true})
	b.of("two", Manifest{Mode: Apply, Restore: true, Run: "1"})
	b.of("two", Manifest{Mode: Apply, Items: items, Run: "2"})
	b.of("two", Manifest{Mode: Apply, Items: removals(items), Run: "3", Images: true})
	b.of("two", Manifest{Mode: Apply, Restore: true, Run: "3"})
	b.of("one", Manifest{Mode: Apply, TearDown: true})
	if diff := cmp.Diff(made, withoutSlipway(b.tree())); diff != "" {
		t.Error(diff)
	}
	b.of("two", Manifest{Mode: Apply, TearDown: true})
	if diff := cmp.Diff(before, b.tree()); diff != "" {
		t.Error(diff)
	}
}

// TestWhatAnotherSiteStillHas: a resource that stays for another site is reported with its name, and notifies nothing.
func TestWhatAnotherSiteStillHas(t *testing.T) {
	b := newBench(t)
	b.session(t.Context(), Manifest{Site: "two", Mode: Apply, Items: []Item{item("plain[a]", "value", "1"), item("svc[s]", "value", "1")}})
	b.converge(Apply, item("plain[a]", "value", "1"), item("svc[s]", "value", "1"))
	results, summary := b.converge(Apply, removal("plain[a]").notifies("svc[s]"), item("svc[s]", "value", "1").refreshOnly())
	b.wantStatuses(results, "plain[a] unchanged", "svc[s] unchanged")
	b.wantLog()
	if want := `it stays on the node for the site "two", which has it, too`; results[0].Notice != want {
		t.Errorf("%q", results[0].Notice)
	}
	if _, applied := summary.Ledger["plain[a]"]; applied {
		t.Error("the site still has it")
	}
}

// TestWhatALeavingSiteTakesAwayIsRefreshed: when a site leaves a daemon to another one and takes away what the daemon reads, the other one has the refresh
// to do.
func TestWhatALeavingSiteTakesAwayIsRefreshed(t *testing.T) {
	conf, svc := item("plain[conf]", "value", "1").notifies("svc[s]"), item("svc[s]", "value", "up")
	for name, leave := range map[string]Manifest{
		"tear-down": {Mode: Apply, TearDown: true},
		"removal":   {Mode: Apply, Items: []Item{removal("svc[s]"), removal("plain[conf]")}},
	} {
		for _, reads := range []bool{true, false} {
			b := newBench(t)
			one, want := svc, "svc[s] unchanged"
			if reads {
				one, want = svc.requires("plain[conf]"), "svc[s] differs"
			}
			b.converge(Apply, conf, one)
			two := Manifest{Site: "two", Mode: Apply, Items: []Item{svc}}
			b.session(t.Context(), two)
			b.session(t.Context(), leave)
			two.Mode = Check
			results, _ := b.session(t.Context(), two)
			t.Log(name, reads)
			b.wantStatuses(results, want)
			two.Mode = Apply
			b.session(t.Context(), two)
			results, _ = b.session(t.Context(), two)
			b.wantStatuses(results, "svc[s] unchanged")
		}
	}
}

// TestSiteWhoseResourceIsNotFinished: what another site has begun and not finished is not shared before that, and what both have is repaired by either.
func TestSiteWhoseResourceIsNotFinished(t *testing.T) {
	b := newBench(t)
	fails := item("plain[a]", "value", "1", "fail", "broken")
	b.converge(Apply, fails)
	results, _ := b.session(t.Context(), Manifest{Site: "two", Mode: Apply, Items: []Item{fails}})
	if want := `the site "one" has plain[a] on this node as well, and has not finished it; apply or destroy that site first`; results[0].Status != Failed ||
		results[0].Message != want {
		t.Errorf("%s: %s", results[0].Status, results[0].Message)
	}
	good := item("plain[a]", "value", "1")
	b.converge(Apply, good)
	b.session(t.Context(), Manifest{Site: "two", Mode: Apply, Items: []Item{good}})
	b.put("/fake/plain-a", "by hand")
	cut := b.ledgerNow()
	cut.Entry("one", "plain[a]").Digest = ""
	cut.Change(ledger.Record{Entry: cut.Entry("one", "plain[a]")})
	if err := cut.Compact(); err != nil {
		t.Fatal(err)
	}
	results, _ = b.session(t.Context(), Manifest{Site: "two", Mode: Apply, Items: []Item{good}})
	b.wantStatuses(results, "plain[a] changed")
	results, summary := b.converge(Apply, good)
	b.wantStatuses(results, "plain[a] unchanged")
	if summary.Ledger["plain[a]"] != resource.Digest(good.Resource) {
		t.Error("it is not finished")
	}
}
