package converge

import (
	"slices"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/converge/ledger"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system/systemtest"
	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// jq and mc are installed by one call of apt-get, so the ledger has for each what came along with both.
const (
	beforeOfJq = `{"name":"jq","provider":"apt","install":true,"present":false,"came":["mc-data","onig"]}`
	beforeOfMc = `{"name":"mc","provider":"apt","install":true,"present":false,"came":["mc-data","onig"]}`
	autoMcData = "Package: mc-data\nArchitecture: amd64\nAuto-Installed: 1\n"
)

func mc() Item { return Item{Resource: resource.Resource{Type: "package", Title: "mc"}, Digest: "d"} }

func withoutJq() Item {
	i := jq()
	i.Remove = true
	return i
}

// TestAptUndoesOneOfTwoThatWereCutOff: the call that was to install jq and mc was killed while mc-data was unpacked.
// dpkg removes nothing of that kind, so it is installed again before jq is undone.
func TestAptUndoesOneOfTwoThatWereCutOff(t *testing.T) {
	var s *types.Session
	const purge = "apt-get purge -- jq mc-data onig"
	r := &recorder{Answers: map[string]system.Output{
		"apt-cache policy":                              systemtest.Prints("mc:\n  Candidate: 1\n"),
		"apt-get" + systemtest.AptOptions + " -s":       systemtest.Prints("Purg jq [1]\nPurg mc-data [1]\nPurg onig [1]\n"),
		"apt-get" + systemtest.AptOptions + " purge --": {Status: 100, Combined: "dpkg: error processing package mc-data (--remove)\n"},
	}}
	database := systemtest.Stanza("jq", "Depends: onig\n") + systemtest.Stanza("onig", "")
	s = aptNode(t, database+in("install reinstreq half-installed", systemtest.Stanza("mc-data", "")), r)
	nowInstalled(t, &s, database+in("install reinstreq half-installed", systemtest.Stanza("mc-data", "")), autoMcData+"\n"+autoOnig)()
	r.Effects = map[string]func(){
		"apt-get" + systemtest.AptOptions + " install --reinstall -- mc-data": func() {
			delete(r.Answers, "apt-get"+systemtest.AptOptions+" purge --")
			nowInstalled(t, &s, database+systemtest.Stanza("mc-data", ""), autoMcData+"\n"+autoOnig)()
			r.Effects["apt-get"+systemtest.AptOptions+" purge --"] = nowInstalled(t, &s, "", "")
		},
		"apt-get" + systemtest.AptOptions + " install -- mc": nowInstalled(t, &s,
			systemtest.Stanza("mc", "Depends: mc-data\n")+systemtest.Stanza("mc-data", ""), autoMcData),
	}
	interrupted(t, s, jq(), beforeOfJq)
	interrupted(t, s, mc(), beforeOfMc)
	for _, got := range runAll(t, s, withoutJq(), mc()) {
		if got.Status != Changed {
			t.Errorf("%s: %s: %s", got.ID, got.Status, got.Message)
		}
	}
	r.WantRan(t, "apt-get install --reinstall -- mc-data",
		"apt-get -s --allow-change-held-packages purge -- jq mc-data onig", purge,
		"apt-cache policy -- mc", "apt-get install -- mc")
}

// TestPackagesInOneCall: packages of which none requires another are installed by one call of the package manager, with
// each of the three, whatever comes between them and has nothing to do with the package manager.
func TestPackagesInOneCall(t *testing.T) {
	for manager, tt := range map[string]struct {
		files   map[string]string
		answers map[string]system.Output
		now     func(s *types.Session, r *recorder) // both are installed
		install string
	}{
		"apt": {
			map[string]string{"/usr/bin/apt-get": "", "/var/lib/dpkg/status": systemtest.DpkgStanza},
			map[string]system.Output{"apt-cache policy": systemtest.Prints("jq:\n  Candidate: 1\nmc:\n  Candidate: 1\n")},
			func(s *types.Session, _ *recorder) {
				nowInstalled(t, &s, systemtest.Stanza("jq", "")+systemtest.Stanza("mc", ""), "")()
			},
			"apt-get install -- jq mc",
		},
		"dnf": {
			map[string]string{"/usr/bin/dnf": ""},
			map[string]system.Output{"rpm -qa": systemtest.Prints("bash\t0\t5.2\t1\tx86_64\n")},
			func(_ *types.Session, r *recorder) {
				r.Answers["rpm -qa"] = systemtest.Prints("jq\t0\t1\t1\tx86_64\nmc\t0\t1\t1\tx86_64\n")
			},
			"dnf -y -q install -- jq mc",
		},
		"apk": {
			map[string]string{"/sbin/apk": "", "/lib/apk/db/installed": "P:musl\nV:1\n\n"}, map[string]system.Output{},
			func(s *types.Session, _ *recorder) {
				systemtest.Edit(t, s.Root, "/lib/apk/db/installed", "P:musl\nV:1\n\n", "P:jq\nV:1\n\nP:mc\nV:1\n\n")
			},
			"apk --no-progress --wait 120 add -- jq mc",
		},
	} {
		t.Run(manager, func(t *testing.T) {
			r := &recorder{Answers: tt.answers}
			s := wholeMachine(t, tt.files, r.Run)
			r.Effects = map[string]func(){strings.Replace(tt.install, "apt-get", "apt-get"+systemtest.AptOptions, 1): func() { tt.now(s, r) }}
			file := item("file[/etc.conf]", "content", "x").requires("package[jq]")
			results := runAll(t, s, item("package[jq]"), file, item("package[mc]"))
			if got := statuses(results); !slices.Equal(got, []string{"package[jq] changed", "file[/etc.conf] changed", "package[mc] changed"}) {
				t.Errorf("%q: %+v", got, results)
			}
			var installs []string
			for _, line := range r.Ran {
				if line = strings.Replace(line, systemtest.AptOptions, "", 1); strings.Contains(line, " install --") || strings.Contains(line, " add --") {
					installs = append(installs, line)
				}
			}
			installs = slices.DeleteFunc(installs, func(line string) bool { return strings.Contains(line, " -s ") })
			if !slices.Equal(installs, []string{tt.install}) {
				t.Errorf("installed by %q", installs)
			}
		})
	}
}

// TestOneByOneNamesTheCulprit: when the one call fails, each package that is not there is tried by itself, so that the
// error is that of its own, with each of the three.
func TestOneByOneNamesTheCulprit(t *testing.T) {
	for manager, tt := range map[string]struct {
		files   map[string]string
		answers map[string]system.Output
		now     func(s *types.Session, r *recorder) // mc is installed
		install string
	}{
		"apt": {
			map[string]string{"/usr/bin/apt-get": "", "/var/lib/dpkg/status": systemtest.DpkgStanza},
			map[string]system.Output{"apt-cache policy": systemtest.Prints("jq:\n  Candidate: 1\nmc:\n  Candidate: 1\n")},
			func(s *types.Session, _ *recorder) { nowInstalled(t, &s, systemtest.Stanza("mc", ""), "")() },
			"apt-get" + systemtest.AptOptions + " install -- ",
		},
		"dnf": {
			map[string]string{"/usr/bin/dnf": ""},
			map[string]system.Output{"rpm -qa": systemtest.Prints("bash\t0\t5.2\t1\tx86_64\n")},
			func(_ *types.Session, r *recorder) { r.Answers["rpm -qa"] = systemtest.Prints("mc\t0\t1\t1\tx86_64\n") },
			"dnf -y -q install -- ",
		},
		"apk": {
			map[string]string{"/sbin/apk": "", "/lib/apk/db/installed": "P:musl\nV:1\n\n"}, map[string]system.Output{},
			func(s *types.Session, _ *recorder) {
				systemtest.Edit(t, s.Root, "/lib/apk/db/installed", "P:musl\nV:1\n\n", "P:mc\nV:1\n\n")
			},
			"apk --no-progress --wait 120 add -- ",
		},
	} {
		t.Run(manager, func(t *testing.T) {
			r := &recorder{Answers: tt.answers}
			r.Answers[tt.install+"jq"] = system.Output{Status: 1, Combined: "Error: jq conflicts with bash\n"}
			s := wholeMachine(t, tt.files, r.Run)
			r.Effects = map[string]func(){tt.install + "mc": func() { tt.now(s, r) }}
			results := runAll(t, s, item("package[jq]"), item("package[mc]"))
			if got := statuses(results); !slices.Equal(got, []string{"package[jq] failed", "package[mc] changed"}) ||
				!strings.Contains(results[0].Message, "jq conflicts with bash") {
				t.Errorf("%q: %+v", got, results)
			}
			var installs []string
			for _, line := range r.Ran {
				if names, is := strings.CutPrefix(line, tt.install); is {
					installs = append(installs, names)
				}
			}
			if !slices.Equal(installs, []string{"jq mc", "jq", "mc"}) {
				t.Errorf("installed by %q", installs)
			}
		})
	}
}

// TestAptMarksAgainWhatStays: the undo of jq was cut off when apt had forgotten why the companions are there. By now mc
// needs one of them, which stays, and goes with mc.
func TestAptMarksAgainWhatStays(t *testing.T) {
	var s *types.Session
	r := &recorder{Answers: map[string]system.Output{"apt-get" + systemtest.AptOptions + " -s": systemtest.Prints("Purg jq [1]\nPurg onig [1]\n")}}
	ofMc := systemtest.Stanza("mc", "Depends: mc-data\n") + systemtest.Stanza("mc-data", "")
	s = aptNode(t, ofMc+systemtest.Stanza("jq", "Depends: onig\n")+systemtest.Stanza("onig", ""), r)
	interrupted(t, s, jq(), beforeOfJq[:len(beforeOfJq)-1]+`,"leaving":["mc-data","onig"]}`)
	interrupted(t, s, mc(), beforeOfMc)
	const mark = "apt-mark auto -- mc-data"
	r.Effects = map[string]func(){
		mark: nowInstalled(t, &s, ofMc+systemtest.Stanza("jq", "Depends: onig\n")+systemtest.Stanza("onig", ""), autoMcData),
		"apt-get" + systemtest.AptOptions + " purge --": nowInstalled(t, &s, ofMc, autoMcData),
	}
	if got := runAll(t, s, withoutJq())[0]; got.Status != Changed {
		t.Fatalf("%s: %s", got.Status, got.Message)
	}
	r.WantRan(t, "apt-get -s --allow-change-held-packages purge -- jq onig", mark, "apt-get purge -- jq onig")

	r.Answers["apt-get"+systemtest.AptOptions+" -s"] = systemtest.Prints("Purg mc [1]\nPurg mc-data [1]\n")
	r.Effects = map[string]func(){"apt-get" + systemtest.AptOptions + " purge --": nowInstalled(t, &s, "", "")}
	if got := runAll(t, s)[0]; got.Status != Changed {
		t.Fatalf("%s: %s", got.Status, got.Message)
	}
	r.WantRan(t, "apt-get -s --allow-change-held-packages purge -- mc mc-data", "apt-get purge -- mc mc-data")
}

// TestDnfCompletesTheCutOffFirst: dnf knows of its last transaction alone whether that was cut off, so it is completed
// before another one, also when that is of another resource.
func TestDnfCompletesTheCutOffFirst(t *testing.T) {
	const (
		query = "rpm -qa --queryformat " + rpmFormat
		info  = "dnf -y -q history info last"
		redo  = "dnf -y -q history redo last"
	)
	setUp := func(t *testing.T) (*types.Session, *recorder) {
		r := &recorder{Answers: map[string]system.Output{
			"rpm -qa": systemtest.Prints("bash\t0\t5.2\t1\tx86_64\n"), info: systemtest.Prints("End rpmdb      :  **\n"),
		}}
		s := wholeMachine(t, map[string]string{"/usr/bin/dnf": ""}, r.Run)
		i := Item{Resource: resource.Resource{Type: "package", Title: "other"}, Digest: "d"}
		interrupted(t, s, i, `{"name":"other","provider":"dnf","install":true,"present":false}`)
		r.Effects = map[string]func(){redo: func() { r.Answers[info] = systemtest.Prints("End rpmdb      : 3b72\n") }}
		return s, r
	}
	t.Run("undo", func(t *testing.T) {
		s, r := setUp(t)
		r.Effects["dnf -y -q remove"] = func() { r.Answers["rpm -qa"] = systemtest.Prints("") }
		bash := Item{Resource: resource.Resource{Type: "package", Title: "bash"}, Digest: "d"}
		interrupted(t, s, bash, `{"name":"bash","provider":"dnf","install":true,"present":false}`)
		l, err := ledger.Read(s.System)
		if err != nil {
			t.Fatal(err)
		}
		e := l.Entry("s", bash.ID())
		e.Digest = "d" // it was applied before
		l.Change(ledger.Record{Entry: e})
		if err := l.Compact(); err != nil {
			t.Fatal(err)
		}
		bash.Remove = true
		if got := runAll(t, s, bash)[0]; got.Status != Changed {
			t.Fatalf("%s: %s", got.Status, got.Message)
		}
		r.WantRan(t, info, redo, query, "rpm --erase --test -- bash", "dnf -y -q remove -- bash", query)
	})
	t.Run("install", func(t *testing.T) {
		s, r := setUp(t)
		r.Effects["dnf -y -q install"] = func() { r.Answers["rpm -qa"] = systemtest.Prints("vim\t0\t9\t1\tx86_64\n") }
		vim := Item{Resource: resource.Resource{Type: "package", Title: "vim"}, Digest: "d"}
		if got := runAll(t, s, vim)[0]; got.Status != Changed {
			t.Fatalf("%s: %s", got.Status, got.Message)
		}
		r.WantRan(t, query, info, redo, query, "dnf -y -q install -- vim", query, query)
	})
}

// rpmFormat is the format in which rpm is asked what is installed.
const rpmFormat = `%{NAME}\t%|EPOCH?{%{EPOCH}}:{0}|\t%{VERSION}\t%{RELEASE}\t%{ARCH}\n`

// TestPackagesThatUndoEachOther: jq brings onig, which is to be absent, and goes with it. Whichever comes second undoes
// the first, and fails.
func TestPackagesThatUndoEachOther(t *testing.T) {
	both := systemtest.Stanza("jq", "Depends: onig\n") + systemtest.Stanza("onig", "")
	for name, tt := range map[string]struct {
		database, after string
		ensure          string // of onig
		failed, message string
	}{
		"installed": {"", both, "absent", "package[jq]", `package "jq": with it onig became 1, and package[onig] wants it absent`},
		"removed":   {both, "", "absent", "package[onig]", `package "onig": with it jq became absent, and package[jq] wants it installed`},
		"purged":    {both, "", "purged", "package[onig]", `package "onig": with it jq became absent, and package[jq] wants it installed`},
	} {
		t.Run(name, func(t *testing.T) {
			var s *types.Session
			r := &recorder{Answers: map[string]system.Output{"apt-cache policy": systemtest.Prints("jq:\n  Candidate: 1\n")}}
			s = aptNode(t, tt.database, r)
			now := nowInstalled(t, &s, tt.after, "")
			r.Effects = map[string]func(){"apt-get" + systemtest.AptOptions + " install --": now, "apt-get" + systemtest.AptOptions + " purge --": now}
			for _, got := range runAll(t, s, item("package[jq]"), item("package[onig]", "ensure", tt.ensure)) {
				if failed := string(got.ID) == tt.failed; failed != (got.Status == Failed) ||
					failed && !strings.Contains(got.Message, tt.message) {
					t.Errorf("%s: %s: %s", got.ID, got.Status, got.Message)
				}
			}
		})
	}
}

// TestPackagesThatWouldUndoOthers: what apt would take or bring besides is looked at before anything is done, and what
// the ledger says of this site or another counts as what the manifest wants.
func TestPackagesThatWouldUndoOthers(t *testing.T) {
	const (
		installed = `{"name":"jq","provider":"apt","install":true,"present":false}`
		absent    = `{"name":"onig","provider":"apt","install":false,"present":false}`
		left      = ": leave one of the two out"
	)
	both := systemtest.Stanza("jq", "Depends: onig\n") + systemtest.Stanza("onig", "")
	gone, purged := item("package[onig]", "ensure", "absent"), item("package[onig]", "ensure", "purged")
	for name, tt := range map[string]struct {
		database string
		ledger   string // of the resource that the manifest does not name; empty: none
		site     string // of it
		plan     string // of apt
		items    []Item
		want     []string // statuses
		message  string
	}{
		"removes what the manifest wants": {both, "", "", "Remv jq [1]\nRemv onig [1]\n", []Item{item("package[jq]"), gone},
			[]string{"package[jq] unchanged", "package[onig] failed"}, "with it jq would go, and package[jq] wants it installed" + left},
		"purges what the ledger has": {both, installed, "s", "Purg jq [1]\nPurg onig [1]\n", []Item{purged},
			[]string{"package[onig] failed"}, "with it jq would go, and package[jq] wants it installed" + left},
		"removes what another site has": {both, installed, "other", "Remv jq [1]\nRemv onig [1]\n", []Item{gone},
			[]string{"package[onig] failed"}, `with it jq would go, and package[jq] of the site "other" wants it installed` + left},
		"brings what the manifest wants absent": {"", "", "", "Inst onig (1 x)\nInst jq (1 x)\n", []Item{item("package[jq]"), gone},
			[]string{"package[jq] failed", "package[onig] unchanged"}, "with it onig would come, and package[onig] wants it absent" + left},
		"brings what the ledger has as absent": {"", absent, "s", "Inst onig (1 x)\nInst jq (1 x)\n", []Item{item("package[jq]")},
			[]string{"package[jq] failed"}, "with it onig would come, and package[onig] wants it absent" + left},
	} {
		t.Run(name, func(t *testing.T) {
			r := &recorder{Answers: map[string]system.Output{
				"apt-cache policy": systemtest.Prints("jq:\n  Candidate: 1\n"), "apt-get" + systemtest.AptOptions + " -s": systemtest.Prints(tt.plan),
			}}
			s := aptNode(t, tt.database, r)
			if tt.ledger != "" {
				other := item("package[jq]")
				if tt.ledger == absent {
					other = gone
				}
				applied(t, s, tt.site, other, tt.ledger)
			}
			results := runAll(t, s, tt.items...)
			if got := statuses(results); !slices.Equal(got, tt.want) {
				t.Errorf("%q: %+v", got, results)
			}
			for _, got := range results {
				if got.Status == Failed && !strings.Contains(got.Message, tt.message) {
					t.Errorf("%s: %s", got.ID, got.Message)
				}
			}
			for _, line := range r.Ran {
				if strings.HasPrefix(line, "apt-get") && !strings.Contains(line, " -s ") {
					t.Errorf("it was done: %s", line)
				}
			}
		})
	}
	t.Run("dnf took what the ledger has", func(t *testing.T) {
		r := &recorder{Answers: map[string]system.Output{"rpm -qa": systemtest.Prints("jq\t0\t1\t1\tx86_64\nonig\t0\t1\t1\tx86_64\n")}}
		s := wholeMachine(t, map[string]string{"/usr/bin/dnf": ""}, r.Run)
		r.Effects = map[string]func(){"dnf -y -q remove": func() { r.Answers["rpm -qa"] = systemtest.Prints("") }}
		applied(t, s, "other", item("package[jq]"), `{"name":"jq","provider":"dnf","install":true,"present":false}`)
		got := runAll(t, s, gone)[0]
		if want := `with it jq became absent, and package[jq] of the site "other" wants it installed` + left; !strings.Contains(got.Message, want) {
			t.Errorf("%s: %q, want %q", got.Status, got.Message, want)
		}
	})
	t.Run("removes what the manifest removes, too", func(t *testing.T) {
		r := &recorder{Answers: map[string]system.Output{"apt-get" + systemtest.AptOptions + " -s": systemtest.Prints("Remv jq [1]\nRemv onig [1]\n")}}
		s := aptNode(t, both, r)
		r.Effects = map[string]func(){"apt-get" + systemtest.AptOptions + " install -- onig-": nowInstalled(t, &s, "", "")}
		applied(t, s, "s", item("package[jq]"), `{"name":"jq","provider":"apt","install":true,"present":true}`)
		for _, got := range runAll(t, s, gone, withoutJq()) {
			if got.Status == Failed {
				t.Errorf("%s: %s", got.ID, got.Message)
			}
		}
	})
}

// applied writes into the ledger that a site has applied a resource.
func applied(t *testing.T, s *types.Session, site string, i Item, before string) {
	t.Helper()
	interrupted(t, s, i, before)
	l, err := ledger.Read(s.System)
	if err != nil {
		t.Fatal(err)
	}
	e := *l.Entry("s", i.ID())
	l.Change(ledger.Record{Drop: &ledger.Key{Site: "s", ID: i.ID()}})
	e.Site, e.Digest = site, "d"
	l.Change(ledger.Record{Entry: &e})
	if err := l.Compact(); err != nil {
		t.Fatal(err)
	}
}
