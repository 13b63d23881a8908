package converge

import (
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system/systemtest"
	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// in returns a stanza of dpkg's database in another state.
func in(state, stanza string) string {
	return strings.Replace(stanza, "install ok installed", state, 1)
}

const (
	autoOnig  = "Package: onig\nArchitecture: amd64\nAuto-Installed: 1\n"
	purgeBoth = "apt-get purge -- jq onig"
	dryBoth   = "apt-get -s --allow-change-held-packages purge -- jq onig"
	purging   = " purge -- jq onig"
)

// jqBrought is a node on which jq was installed and brought onig along. r answers as apt does.
func jqBrought(t *testing.T, r *recorder) *types.Session {
	t.Helper()
	var s *types.Session
	r.Answers = map[string]system.Output{
		"apt-cache policy":                        systemtest.Prints("jq:\n  Candidate: 1\n"),
		"apt-get" + systemtest.AptOptions + " -s": systemtest.Prints("Inst onig (1 x [amd64])\nInst jq (1 x [amd64])\n"),
		"apt-get" + systemtest.AptOptions + " -s --allow-change-held-packages" + purging: systemtest.Prints("Purg jq [1]\nPurg onig [1]\n"),
	}
	s = aptNode(t, "", r)
	r.Effects = map[string]func(){"apt-get" + systemtest.AptOptions + " install": nowInstalled(t, &s,
		systemtest.Stanza("jq", "Depends: onig\n")+systemtest.Stanza("onig", ""), autoOnig)}
	if got := runAll(t, s, jq())[0]; got.Status != Changed {
		t.Fatalf("%s: %s", got.Status, got.Message)
	}
	r.Ran, r.Stdin = nil, nil
	return s
}

func jq() Item { return Item{Resource: resource.Resource{Type: "package", Title: "jq"}, Digest: "d"} }

// TestAptUndoCutOffBeforeItsCompanionsGo: apt forgets first why a companion is there, and then dpkg removes one after the other.
func TestAptUndoCutOffBeforeItsCompanionsGo(t *testing.T) {
	for name, jqIs := range map[string]string{"removed": "purge ok config-files", "half removed": "deinstall ok half-installed"} {
		t.Run(name, func(t *testing.T) {
			r := &recorder{}
			s := jqBrought(t, r)
			r.Answers["apt-get"+systemtest.AptOptions+purging] = system.Output{Status: 100, Combined: "E: killed\n"}
			r.Effects = map[string]func(){"apt-get" + systemtest.AptOptions + purging: nowInstalled(t, &s,
				in(jqIs, systemtest.Stanza("jq", "Depends: onig\n"))+in("purge ok installed", systemtest.Stanza("onig", "")), "")}
			if got := runAll(t, s)[0]; got.Status != Failed {
				t.Fatalf("%s: %s", got.Status, got.Message)
			}
			r.WantRan(t, dryBoth, purgeBoth)
			delete(r.Answers, "apt-get"+systemtest.AptOptions+purging)
			r.Effects = map[string]func(){"apt-get" + systemtest.AptOptions + purging: nowInstalled(t, &s, "", "")}
			if got := runAll(t, s)[0]; got.Status != Changed {
				t.Fatalf("%s: %s", got.Status, got.Message)
			}
			r.WantRan(t, dryBoth, purgeBoth)
		})
	}
}

// TestAptPurgesWhatItOnlyRemoved: of a package that is half removed, apt-get purge leaves the configuration files.
func TestAptPurgesWhatItOnlyRemoved(t *testing.T) {
	purgeOnce := func(t *testing.T) (*types.Session, *recorder) {
		var s *types.Session
		r := &recorder{Answers: map[string]system.Output{"apt-get" + systemtest.AptOptions + " -s": systemtest.Prints("Remv jq [1]\n")}}
		half := in("deinstall ok half-installed", systemtest.Stanza("jq", ""))
		s = aptNode(t, half, r)
		times := 0
		r.Effects = map[string]func(){"apt-get" + systemtest.AptOptions + " purge": func() {
			if times++; times == 1 {
				nowInstalled(t, &s, in("deinstall ok config-files", systemtest.Stanza("jq", "")), "")()
			} else {
				nowInstalled(t, &s, "", "")()
			}
		}}
		return s, r
	}
	t.Run("undo", func(t *testing.T) {
		s, r := purgeOnce(t)
		interrupted(t, s, jq(), `{"name":"jq","provider":"apt","install":true,"present":false}`)
		if got := runAll(t, s)[0]; got.Status != Changed {
			t.Errorf("%s: %s", got.Status, got.Message)
		}
		r.WantRan(t, "apt-get -s --allow-change-held-packages purge -- jq", "apt-get purge -- jq", "apt-get purge -- jq")
	})
	t.Run("ensure = purged", func(t *testing.T) {
		s, r := purgeOnce(t)
		err := types.All["package"].Apply(t.Context(), s, res(t, types.All["package"], "jq", resource.Parameters{"ensure": "purged"}))
		if err != nil {
			t.Error(err)
		}
		r.WantRan(t, "apt-get purge -- jq", "apt-get purge -- jq")
	})
}

// TestAptInstallsAgainWhatAnUndoHalfRemoved: apt-get install takes a package that is half removed for installed. What came along has its mark again.
func TestAptInstallsAgainWhatAnUndoHalfRemoved(t *testing.T) {
	const configure = "dpkg --force-confdef --force-confold --configure -a"
	for name, tt := range map[string]struct {
		jq, onig string
		want     []string
	}{
		"the package":     {"deinstall ok half-installed", "purge ok installed", []string{"dpkg --set-selections", "apt-get install --reinstall -- jq", "apt-mark auto -- onig"}},
		"its companion":   {"deinstall ok config-files", "purge ok half-installed", []string{"dpkg --set-selections", "apt-get install --reinstall -- onig", "apt-mark auto -- onig", "apt-cache policy -- jq", "apt-get install -- jq"}},
		"half configured": {"install ok installed", "purge ok half-configured", []string{"dpkg --set-selections", configure, "apt-mark auto -- onig"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := &recorder{}
			s := jqBrought(t, r)
			r.Answers["apt-get"+systemtest.AptOptions+purging] = system.Output{Status: 100, Combined: "E: killed\n"}
			r.Effects = map[string]func(){"apt-get" + systemtest.AptOptions + purging: nowInstalled(t, &s,
				in(tt.jq, systemtest.Stanza("jq", "Depends: onig\n"))+in(tt.onig, systemtest.Stanza("onig", "")), "")}
			runAll(t, s)
			r.Ran = nil
			whole := nowInstalled(t, &s, systemtest.Stanza("jq", "Depends: onig\n")+systemtest.Stanza("onig", ""), "")
			r.Effects = map[string]func(){configure: whole, "apt-get" + systemtest.AptOptions + " install -- jq": whole}
			if !strings.Contains(tt.jq, "config-files") {
				r.Effects["apt-get"+systemtest.AptOptions+" install --reinstall"] = whole
			} else {
				r.Effects["apt-get"+systemtest.AptOptions+" install --reinstall"] = nowInstalled(t, &s,
					in(tt.jq, systemtest.Stanza("jq", "Depends: onig\n"))+systemtest.Stanza("onig", ""), "")
			}
			if got := runAll(t, s, jq())[0]; got.Status != Changed {
				t.Errorf("%s: %s", got.Status, got.Message)
			}
			r.WantRan(t, tt.want...)
		})
	}
}
