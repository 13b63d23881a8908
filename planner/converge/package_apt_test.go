package converge

import (
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system/systemtest"
	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// TestAptCompletesWhatWasCutOff: the package that was asked for is configured, and one that came along is not. It is completed before the
// resource is judged, and where that fails, the resource does.
func TestAptCompletesWhatWasCutOff(t *testing.T) {
	const configure = "dpkg --force-confdef --force-confold --configure -a"
	whole := systemtest.Stanza("jq", "Depends: onig\n") + systemtest.Stanza("onig", "")
	half := systemtest.Stanza("jq", "Depends: onig\n") + strings.Replace(systemtest.Stanza("onig", ""), "ok installed", "ok half-configured", 1)
	for name, tt := range map[string]struct {
		after   string
		want    Status
		message string
	}{
		"completed":        {whole, Changed, ""},
		"cannot be":        {half, Failed, "onig, which came along with it, is half-configured"},
		"another's is not": {whole + strings.Replace(systemtest.Stanza("z", ""), "ok installed", "ok half-configured", 1), Changed, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var s *types.Session
			r := &recorder{Answers: map[string]system.Output{}}
			if strings.Contains(tt.after, "half") {
				r.Answers[configure] = system.Output{Status: 1, Combined: "dpkg: error processing package\n"}
			}
			s = aptNode(t, half, r)
			r.Effects = map[string]func(){configure: nowInstalled(t, &s, tt.after, "")}
			i := Item{Resource: resource.Resource{Type: "package", Title: "jq"}, Digest: "d"}
			interrupted(t, s, i, `{"name":"jq","provider":"apt","install":true,"present":false,"came":["onig"]}`)
			got := runAll(t, s, i)[0]
			if got.Status != tt.want || !strings.Contains(got.Message, tt.message) {
				t.Errorf("the outcome is %q: %s", got.Status, got.Message)
			}
			r.WantRan(t, configure)
		})
	}
}

// TestAptFailsWithWhatCameAlong: apt-get failed because of a package that came along; the one that was asked for is configured.
func TestAptFailsWithWhatCameAlong(t *testing.T) {
	var s *types.Session
	r := &recorder{Answers: map[string]system.Output{
		"apt-cache policy":                             systemtest.Prints("jq:\n  Candidate: 1\n"),
		"apt-get" + systemtest.AptOptions + " -s":      systemtest.Prints("Inst onig (1 x [amd64])\nInst jq (1 x [amd64])\n"),
		"apt-get" + systemtest.AptOptions + " install": {Status: 100, Combined: "E: Sub-process /usr/bin/dpkg returned an error code (1)\n"},
	}}
	s = aptNode(t, "", r)
	r.Effects = map[string]func(){"apt-get" + systemtest.AptOptions + " install": nowInstalled(t, &s,
		systemtest.Stanza("jq", "Depends: onig\n")+strings.Replace(systemtest.Stanza("onig", ""), "ok installed", "ok half-configured", 1), "")}
	got := runAll(t, s, Item{Resource: resource.Resource{Type: "package", Title: "jq"}, Digest: "d"})[0]
	const want = "onig, which came along with it, is half-configured: apt-get ended with status 100"
	if got.Status != Failed || !strings.Contains(got.Message, want) {
		t.Errorf("the outcome is %q: %s", got.Status, got.Message)
	}
}

// TestAptBlamesNoneButWhatNeedsIt: one call of apt-get installs jq and mc, and fails because of what came along with mc.
// jq is in order and needs nothing of that.
func TestAptBlamesNoneButWhatNeedsIt(t *testing.T) {
	var s *types.Session
	r := &recorder{Answers: map[string]system.Output{
		"apt-cache policy":                             systemtest.Prints("jq:\n  Candidate: 1\nmc:\n  Candidate: 1\n"),
		"apt-get" + systemtest.AptOptions + " -s":      systemtest.Prints("Inst mc-data (1 x [amd64])\nInst jq (1 x [amd64])\nInst mc (1 x [amd64])\n"),
		"apt-get" + systemtest.AptOptions + " install": {Status: 100, Combined: "E: Sub-process /usr/bin/dpkg returned an error code (1)\n"},
	}}
	s = aptNode(t, "", r)
	r.Effects = map[string]func(){"apt-get" + systemtest.AptOptions + " install": nowInstalled(t, &s, systemtest.Stanza("jq", "")+
		strings.Replace(systemtest.Stanza("mc", "Depends: mc-data\n"), "ok installed", "ok unpacked", 1)+
		strings.Replace(systemtest.Stanza("mc-data", ""), "ok installed", "ok half-configured", 1), "")}
	got := runAll(t, s, Item{Resource: resource.Resource{Type: "package", Title: "jq"}, Digest: "d"}, mc())
	if got[0].Status != Changed || got[1].Status != Failed {
		t.Errorf("jq %q: %s; mc %q: %s; want jq changed and mc failed", got[0].Status, got[0].Message, got[1].Status,
			got[1].Message)
	}
}
