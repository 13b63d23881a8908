package types

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system/systemtest"
)

func TestUnneeded(t *testing.T) {
	tests := []struct {
		name     string
		database string
		target   string
		came     []string
		without  []string
		want     []string
		neededBy string
	}{
		{"companions go along",
			systemtest.Stanza("jq", "Depends: libjq (= 1), libc (>= 2)\n") + systemtest.Stanza("libjq", "Depends: onig\n") + systemtest.Stanza("onig", "") + systemtest.Stanza("libc", ""),
			"jq", []string{"libjq", "onig"}, nil, []string{"jq", "libjq", "onig"}, ""},
		{"what was not brought stays", systemtest.Stanza("jq", "Depends: libc\n") + systemtest.Stanza("libc", ""),
			"jq", nil, nil, []string{"jq"}, ""},
		{"a shared companion stays, with what it needs",
			systemtest.Stanza("a", "Depends: d\n") + systemtest.Stanza("b", "Depends: d\n") + systemtest.Stanza("d", "Depends: e\n") + systemtest.Stanza("e", "") + systemtest.Stanza("f", ""),
			"a", []string{"d", "e", "f"}, nil, []string{"a", "f"}, ""},
		{"the last one takes it", systemtest.Stanza("b", "Depends: d\n") + systemtest.Stanza("d", "Depends: e\n") + systemtest.Stanza("e", ""),
			"b", []string{"d", "e"}, nil, []string{"b", "d", "e"}, ""},
		{"companions that need each other", systemtest.Stanza("a", "Depends: x\n") + systemtest.Stanza("x", "Depends: y\n") + systemtest.Stanza("y", "Depends: x\n"),
			"a", []string{"x", "y"}, nil, []string{"a", "x", "y"}, ""},
		{"target needed by another", systemtest.Stanza("a", "Depends: d\n") + systemtest.Stanza("d", "") + systemtest.Stanza("z", "Pre-Depends: a (>= 0.5)\n"),
			"a", []string{"d"}, nil, []string{}, "z"},
		{"recommended by one that came later", systemtest.Stanza("a", "Depends: d\n") + systemtest.Stanza("d", "") + systemtest.Stanza("z", "Recommends: d | q\n"),
			"a", []string{"d"}, nil, []string{"a"}, ""},
		{"recommended by one that did without", systemtest.Stanza("a", "Depends: d\n") + systemtest.Stanza("d", "") + systemtest.Stanza("z", "Recommends: d | q\n"),
			"a", []string{"d"}, []string{"z: d | q"}, []string{"a", "d"}, ""},
		{"a recommendation does not hold the target", systemtest.Stanza("a", "") + systemtest.Stanza("z", "Recommends: a\n"),
			"a", nil, nil, []string{"a"}, ""},
		{"a suggestion holds nothing", systemtest.Stanza("a", "Depends: d\n") + systemtest.Stanza("d", "") + systemtest.Stanza("z", "Suggests: d\n"),
			"a", []string{"d"}, nil, []string{"a", "d"}, ""},
		{"another alternative is there", systemtest.Stanza("a", "Depends: d\n") + systemtest.Stanza("d", "") + systemtest.Stanza("o", "") + systemtest.Stanza("z", "Depends: d | o\n"),
			"a", []string{"d"}, nil, []string{"a", "d"}, ""},
		{"of two alternatives the first stays", systemtest.Stanza("a", "") + systemtest.Stanza("d", "") + systemtest.Stanza("o", "") + systemtest.Stanza("z", "Depends: o | d\n"),
			"a", []string{"d", "o"}, nil, []string{"a", "d"}, ""},
		{"unless another clause decides", systemtest.Stanza("a", "") + systemtest.Stanza("d", "") + systemtest.Stanza("o", "") + systemtest.Stanza("y", "Depends: o | d\n") + systemtest.Stanza("z", "Depends: d\n"),
			"a", []string{"d", "o"}, nil, []string{"a", "o"}, ""},
		{"needed by another name", systemtest.Stanza("a", "Depends: exim\n") + systemtest.Stanza("exim", "Provides: mta (= 4), mail\n") + systemtest.Stanza("z", "Depends: mta\n"),
			"a", []string{"exim"}, nil, []string{"a"}, ""},
		{"half-installed packages need theirs too", systemtest.Stanza("a", "Depends: d\n") + systemtest.Stanza("d", "") + "Package: z\nStatus: install ok half-configured\nArchitecture: all\nDepends: d\n\n",
			"a", []string{"d"}, nil, []string{"a"}, ""},
		{"removed packages need nothing", systemtest.Stanza("a", "Depends: d\n") + systemtest.Stanza("d", "") + "Package: z\nStatus: deinstall ok config-files\nArchitecture: all\nDepends: d\n\n",
			"a", []string{"d"}, nil, []string{"a", "d"}, ""},
		{"target gone already, companions left", systemtest.Stanza("d", "") + systemtest.Stanza("z", ""),
			"a", []string{"d", "gone"}, nil, []string{"d"}, ""},
		{"no target", systemtest.Stanza("d", ""), "", []string{"d"}, nil, []string{"d"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, neededBy := parseDpkg(systemtest.DpkgStanza+tt.database).unneeded(tt.target, tt.came, tt.without)
			if diff := cmp.Diff(append([]string{}, tt.want...), append([]string{}, got...)); diff != "" || neededBy != tt.neededBy {
				t.Errorf("needed by %q, want %q; leaving (-want +got):\n%s", neededBy, tt.neededBy, diff)
			}
		})
	}
}

// TestUnneededProperties: nothing that stays loses what it depends on, nothing that was not brought goes, and the order in which several
// targets are undone does not matter for what is left, when all of them recorded the same companions.
func TestUnneededProperties(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 7))
		text := systemtest.DpkgStanza
		var companions []string
		for i := range 8 {
			fields := ""
			if i > 0 && r.IntN(2) == 0 {
				fields = "Depends: c" + strconv.Itoa(r.IntN(i)) + "\n"
			}
			companions = append(companions, "c"+strconv.Itoa(i))
			text += systemtest.Stanza(companions[i], fields)
		}
		targets := []string{"t0", "t1", "t2"}
		for _, name := range targets {
			text += systemtest.Stanza(name, "Depends: c"+strconv.Itoa(r.IntN(8))+", c"+strconv.Itoa(r.IntN(8))+"\n")
		}
		text += systemtest.Stanza("foreign", "Depends: c"+strconv.Itoa(r.IntN(8))+"\n")

		var left [][]string
		for _, order := range [][]string{{"t0", "t1", "t2"}, {"t2", "t0", "t1"}} {
			db := parseDpkg(text)
			for _, target := range order {
				leaving, neededBy := db.unneeded(target, companions, nil)
				if neededBy != "" {
					t.Fatalf("seed %d: %s is needed by %s", seed, target, neededBy)
				}
				for _, key := range leaving {
					if key != target && !slices.Contains(companions, key) {
						t.Fatalf("seed %d: %s goes", seed, key)
					}
					delete(db.packages, key)
				}
				providers := db.providers()
				for key, p := range db.packages {
					for _, clause := range p.depends {
						if len(providers.of(clause)) == 0 {
							t.Fatalf("seed %d: %s lost %s", seed, key, clause.text)
						}
					}
				}
			}
			var keys []string
			for key := range db.packages {
				keys = append(keys, key)
			}
			slices.Sort(keys)
			left = append(left, keys)
		}
		if diff := cmp.Diff(left[0], left[1]); diff != "" {
			t.Fatalf("seed %d: what is left depends on the order:\n%s", seed, diff)
		}
	}
}

func TestWithout(t *testing.T) {
	db := parseDpkg(systemtest.DpkgStanza + systemtest.Stanza("a", "Recommends: x | y (>= 1), here\n") + systemtest.Stanza("here", "Recommends: a\n") + systemtest.Stanza("b", "Recommends: mta\n") + systemtest.Stanza("exim", "Provides: mta\n"))
	if diff := cmp.Diff([]string{"a: x | y (>= 1)"}, db.without()); diff != "" {
		t.Error(diff)
	}
}

func TestParseAptPlan(t *testing.T) {
	plan := parseAptPlan(`Reading package lists...
The following NEW packages will be installed:
  jq libjq1
Inst libonig5 (6.9.8-1 localhost [amd64])
Inst zlib1g:i386 (1:1.2 Debian:12/stable [i386])
Inst tree [2.0-1] (2.1.0-1 localhost [amd64])
Conf libonig5 (6.9.8-1 localhost [amd64])
Remv exim4 [4.96-15] [bsd-mailx:amd64 ]
Purg cron [3.0pl1-162]
Remv cron [3.0pl1-162]
`)
	want := aptPlan{
		install: []string{"libonig5", "zlib1g:i386"},
		upgrade: []string{"tree"},
		remove:  []packageGone{{Name: "exim4", Version: "4.96-15"}, {Name: "cron", Version: "3.0pl1-162"}},
		removes: map[string]bool{"exim4": true, "cron": true},
	}
	if diff := cmp.Diff(want, plan, cmp.AllowUnexported(aptPlan{})); diff != "" {
		t.Error(diff)
	}
	if plan.only([]string{"exim4", "cron"}) || !(aptPlan{remove: want.remove}).only([]string{"cron", "exim4", "x"}) || (aptPlan{remove: want.remove}).only([]string{"cron"}) {
		t.Error("only")
	}
}
