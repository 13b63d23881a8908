package types

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system/systemtest"
)

func TestDnfMatches(t *testing.T) {
	tests := []struct {
		is, should string
		want       bool
	}{
		{"1.0-1.el9", "1.0-1.el9", true},
		{"1.0-1.el9", "1.0", true},
		{"1:1.0-1.el9", "1.0-1.el9", true},
		{"1:1.0-1.el9", "1:1.0", true},
		{"1:1.0-1.el9", "2:1.0", false},
		{"1.0-1.el9", "0:1.0-1.el9", true},
		{"1.0-1.el9", "1.0-1", false},
		{"1.0.1-1.el9", "1.0", false},
		{"1", "1", true},
	}
	for _, tt := range tests {
		if got := (dnf{}).matches(tt.is, tt.should); got != tt.want {
			t.Errorf("%s is %s: %v", tt.is, tt.should, got)
		}
	}
}

func TestParseCheckUpdate(t *testing.T) {
	got := parseCheckUpdate(`
bash.x86_64                5.2.26-3.fc40         updates
NetworkManager.x86_64      1:1.46.2-1.fc40       updates
zero.noarch                0:2-1                 updates
Obsoleting Packages
old.x86_64                 1-1                   updates
`)
	want := map[string]string{
		"bash": "5.2.26-3.fc40", "bash.x86_64": "5.2.26-3.fc40",
		"NetworkManager": "1:1.46.2-1.fc40", "NetworkManager.x86_64": "1:1.46.2-1.fc40",
		"zero": "2-1", "zero.noarch": "2-1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

const rpmSample = "bash\t0\t5.2\t1\tx86_64\nglibc\t0\t2.39\t4\tx86_64\nglibc\t0\t2.39\t4\ti686\nkernel\t0\t6.2\t1\tx86_64\nkernel\t0\t6.1\t1\tx86_64\nnm\t1\t1.46\t2\tx86_64\n"

func TestRPMStates(t *testing.T) {
	r := &recorder{Answers: map[string]system.Output{"rpm -qa": systemtest.Prints(rpmSample)}}
	s := wholeMachine(t, nil, r.Run)
	for name, want := range map[string]string{
		"bash": "5.2-1", "glibc": "2.39-4", "glibc.i686": "2.39-4", "kernel": "6.1-1, 6.2-1", "nm": "1:1.46-2", "nosuch": "absent",
	} {
		if state, err := (dnf{}).state(t.Context(), s, name); state.String() != want || err != nil {
			t.Errorf("%s: %s, %v; want %s", name, state, err, want)
		}
	}
	r.WantRan(t, "rpm -qa --queryformat "+rpmFormat)

	r.Answers["rpm -qa"] = systemtest.Prints("bash\t0\t5")
	s.Forget()
	if _, err := (dnf{}).state(t.Context(), s, "bash"); err == nil {
		t.Error("a list that was cut passes")
	}
}

func TestDnfTransact(t *testing.T) {
	r := &recorder{Answers: map[string]system.Output{"rpm -qa": systemtest.Prints(rpmSample)}}
	s := wholeMachine(t, nil, r.Run)
	err := dnf{}.transact(t.Context(), s, []packageWant{{name: "vim", ensure: "installed"}, {name: "bash", ensure: "latest"}, {name: "mc", ensure: "latest"}, {name: "nm", ensure: "absent"}, {name: "glibc", ensure: "2.38"}})
	if err != nil {
		t.Fatal(err)
	}
	const query = "rpm -qa --queryformat " + rpmFormat
	r.WantRan(t, query, "dnf -y -q remove -- nm", "dnf -y -q install -- vim mc glibc-2.38", "dnf -y -q upgrade -- bash", query,
		"dnf -y -q downgrade -- glibc-2.38")
}

func TestDnfUndo(t *testing.T) {
	const query = "rpm -qa --queryformat " + rpmFormat
	tests := []struct {
		name   string
		before packageBefore
		erase  system.Output
		after  string // what rpm lists after dnf remove
		want   []string
		fails  bool
	}{
		{"slipway's", packageBefore{Name: "bash", Install: true}, system.Output{}, "", []string{query, "rpm --erase --test -- bash", "dnf -y -q remove -- bash", query}, false},
		{"needed by now", packageBefore{Name: "bash", Install: true}, system.Output{Status: 1, Combined: "error: Failed dependencies:\n\tbash is needed by (installed) x-1"}, "",
			[]string{query, "rpm --erase --test -- bash"}, false},
		{"a status that lies", packageBefore{Name: "bash", Install: true}, system.Output{}, rpmSample, []string{query, "rpm --erase --test -- bash", "dnf -y -q remove -- bash", query}, true},
		{"was there", packageBefore{Name: "bash", Install: true, Present: true}, system.Output{}, "", []string{query}, false},
		{"gone already", packageBefore{Name: "mc", Install: true}, system.Output{}, "", []string{query}, false},
		{"taken away", packageBefore{Name: "mc", Present: true, Version: "4-1"}, system.Output{}, "", []string{query, "dnf -y -q install -- mc-4-1"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := &recorder{Answers: map[string]system.Output{"rpm -qa": systemtest.Prints(rpmSample), "rpm --erase": tt.erase}}
			r.Effects = map[string]func(){"dnf -y -q remove": func() { r.Answers["rpm -qa"] = systemtest.Prints(tt.after) }}
			s := wholeMachine(t, map[string]string{"/usr/bin/dnf": ""}, r.Run)
			tt.before.Provider = "dnf"
			text, err := json.Marshal(tt.before)
			if err != nil {
				t.Fatal(err)
			}
			if err := (packageType{}).Undo(t.Context(), s, "x", text); (err != nil) != tt.fails {
				t.Error(err)
			}
			r.WantRan(t, tt.want...)
		})
	}
}

// TestDnfRefreshesItsIndex: what the index does not have is looked for once more in a new one, and nothing else is
// tried again.
func TestDnfRefreshesItsIndex(t *testing.T) {
	const query = "rpm -qa --queryformat " + rpmFormat
	for said, again := range map[string]bool{
		"Error: Unable to find a match: mc-5\n": true,
		"Error opening /srv/rpm/mc-5-1.rpm: No such file or directory\nError: Some packages from local repository have incorrect checksum\n": true,
		"Error in PREIN scriptlet in rpm package mc\nError: Transaction failed\n":                                                            false,
	} {
		r := &recorder{Answers: map[string]system.Output{
			"rpm -qa": systemtest.Prints(rpmSample), "dnf -y -q install -- mc-5": {Status: 1, Combined: said}, "dnf -y -q install --refresh": systemtest.Prints(""),
		}}
		err := dnf{}.transact(t.Context(), wholeMachine(t, nil, r.Run), []packageWant{{name: "mc", ensure: "5"}})
		want := []string{query, "dnf -y -q install -- mc-5"}
		if again {
			want = append(want, "dnf -y -q install --refresh -- mc-5", query)
		}
		if (err == nil) != again {
			t.Errorf("%q: %v", said, err)
		}
		r.WantRan(t, want...)
	}
}
