package types

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

func TestComparePackage(t *testing.T) {
	installed := func(versions ...string) packageState {
		return packageState{condition: conditionInstalled, versions: versions}
	}
	held := packageState{condition: conditionInstalled, versions: []string{"1"}, held: true}
	half := packageState{condition: conditionBroken, trouble: "half-configured"}
	conffiles := packageState{condition: conditionConffiles}
	tests := []struct {
		ensure     string
		is         packageState
		newest     string
		should, in string // empty: in sync
	}{
		{"installed", packageState{}, "", "installed", "absent"},
		{"installed", installed("1"), "", "", ""},
		{"installed", held, "", "", ""}, // as in Puppet since 7: a hold is not slipway's to lift without need
		{"2", held, "", "2", "1, on hold"},
		{"installed", half, "", "installed", "half-configured"},
		{"installed", conffiles, "", "installed", "absent, configuration files kept"},
		{"latest", installed("1"), "1", "", ""},
		{"latest", installed("1"), "2", "2", "1"},
		{"latest", installed("1", "2"), "2", "", ""},
		{"latest", installed("1"), "", "", ""},
		{"latest", packageState{}, "", "latest", "absent"},
		{"1.0", installed("1.0"), "", "", ""},
		{"1.0", installed("2.0"), "", "1.0", "2.0"},
		{"1.0", packageState{}, "", "1.0", "absent"},
		{"absent", packageState{}, "", "", ""},
		{"absent", conffiles, "", "", ""},
		{"absent", installed("1"), "", "absent", "1"},
		{"absent", half, "", "absent", "half-configured"},
		{"absent", held, "", "absent", "1, on hold"},
		{"purged", packageState{}, "", "", ""},
		{"purged", conffiles, "", "purged", "absent, configuration files kept"},
		{"purged", installed("1"), "", "purged", "1"},
	}
	for _, tt := range tests {
		var want []Difference
		if tt.should != "" {
			want = []Difference{{"ensure", tt.in, tt.should}}
		}
		got := comparePackage(packageWant{name: "p", ensure: tt.ensure}, tt.is, tt.newest, apt{}.matches)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("ensure %s, is %s, newest %q: %s", tt.ensure, tt.is, tt.newest, diff)
		}
	}
}

func TestPackageSchema(t *testing.T) {
	tests := []struct {
		title      string
		parameters resource.Parameters
		wrong      string // the parameter that is refused, empty for none
	}{
		{"libc6:amd64", nil, ""},
		{"libstdc++6", nil, ""},
		{"glibc.i686", nil, ""},
		{"the editor", resource.Parameters{"name": "vim"}, ""},
		{"vim", resource.Parameters{"ensure": "2:9.0.1378-2+deb12u2"}, ""},
		{"vim", resource.Parameters{"ensure": "latest", "provider": "apt"}, ""},
		{"the editor", nil, "name"},
		{"mc-", nil, "name"},
		{"--force", nil, "name"},
		{"mc=1", nil, "name"},
		{"vim*", nil, "name"},
		{"vim", resource.Parameters{"name": "mc/stable"}, "name"},
		{"vim", resource.Parameters{"ensure": "held"}, "ensure"},
		{"vim", resource.Parameters{"ensure": ">= 9.0"}, "ensure"},
		{"vim", resource.Parameters{"ensure": "-o9"}, "ensure"},
		{"vim", resource.Parameters{"provider": "yum"}, "provider"},
		{"vim", resource.Parameters{"install_options": []any{"-t", "bookworm-backports", "--no-install-recommends"}}, ""},
		{"vim", resource.Parameters{"install_options": "--no-install-recommends"}, ""},
		{"vim", resource.Parameters{"install_options": "emacs"}, "install_options"},
		{"vim", resource.Parameters{"install_options": []any{"-y", ""}}, "install_options"},
		{"vim", resource.Parameters{"install_options": []any{"-y", "--", "emacs"}}, "install_options"},
		{"vim", resource.Parameters{"mark": "hold"}, ""},
		{"vim", resource.Parameters{"mark": "auto"}, "mark"},
		{"vim", resource.Parameters{"mark": "hold", "ensure": "absent"}, "mark"},
		{"vim", resource.Parameters{"mark": "hold", "provider": "dnf"}, "mark"},
		{"@vue/cli", resource.Parameters{"provider": "npm"}, ""},
		{"@vue/cli", nil, "name"},
		{"@/cli", resource.Parameters{"provider": "npm"}, "name"},
		{"../cli", resource.Parameters{"provider": "npm"}, "name"},
		{"rake", resource.Parameters{"provider": "gem", "ensure": "13.0.6"}, ""},
		{"requests", resource.Parameters{"provider": "pip3"}, ""},
		{"requests:amd64", resource.Parameters{"provider": "pip"}, "name"},
	}
	for _, tt := range tests {
		errs := packageType{}.Schema().Validate(resource.Resource{Type: "package", Title: tt.title, Parameters: tt.parameters})
		if tt.wrong == "" && len(errs) > 0 || tt.wrong != "" && (len(errs) != 1 || errs[0].Attribute != tt.wrong) {
			t.Errorf("%s %v: %v, want %q", tt.title, tt.parameters, errs, tt.wrong)
		}
	}
}

func TestPackageManagerOfTheNode(t *testing.T) {
	tests := []struct {
		files    []string
		provider string
		want     string
	}{
		{[]string{"/usr/bin/apt-get", "/usr/bin/dnf"}, "", "apt"},
		{[]string{"/usr/bin/apt-get", "/usr/bin/dnf"}, "dnf", "dnf"},
		{[]string{"/usr/bin/dnf"}, "", "dnf"},
		{[]string{"/sbin/apk"}, "", "apk"},
		{[]string{"/sbin/apk"}, "apt", `error: provider "apt": the node does not have it`},
		{nil, "", "error: the node has none of the package managers"},
	}
	for _, tt := range tests {
		files := map[string]string{}
		for _, f := range tt.files {
			files[f] = ""
		}
		_, got, err := findManager(wholeMachine(t, files, noCommand), tt.provider)
		if err != nil {
			got = "error: " + err.Error()
		}
		if !strings.HasPrefix(got, tt.want) {
			t.Errorf("%v %q: %q, want %q", tt.files, tt.provider, got, tt.want)
		}
	}
}

func TestPackageRecordIsDamaged(t *testing.T) {
	if err := (packageType{}).Undo(t.Context(), wholeMachine(t, nil, noCommand), "x", []byte("{")); err == nil {
		t.Error("no error for a record that cannot be read")
	}
}

func TestToolErrorShowsNoArguments(t *testing.T) {
	c := system.Command{Argv: []string{"tool", "secret"}, Stdin: []byte("secret")}
	for combined, want := range map[string]string{
		"":                          "tool ended with status 4: it printed nothing",
		"one\ntwo\n\n":              "tool ended with status 4: two",
		"E: a\nnoise\nE: b\nmore\n": "tool ended with status 4: a; b",
		"Error in PREIN scriptlet in rpm package lab-broken\nError: Transaction failed\n\nFailed:\n  lab-broken-1.0-1.noarch\n": "tool ended with status 4: Error in PREIN scriptlet in rpm package lab-broken; Transaction failed",
		"Error: Unable to find a match: x\n": "tool ended with status 4: Unable to find a match: x",
		"Error: \n Problem: conflicting requests\n  - nothing provides lab-lib needed by lab-tool-2.0-1.noarch\n":                                   "tool ended with status 4: Problem: conflicting requests; - nothing provides lab-lib needed by lab-tool-2.0-1.noarch",
		"You have enabled checking of packages via GPG keys. This is a good thing.\nProblem repository: [signed]\nbaseurl: file:///x\nusername: \n": "tool ended with status 4: packages must be signed, and there is no key for the repository [signed]",
		"E: Sub-process x\n": "tool ended with status 4: Sub-process x",
		"Setting up bp (1) ...\nno licence server\ndpkg: error processing package bp (--configure):\n" +
			" installed bp package post-installation script subprocess returned error exit status 7\nSetting up tree ...\nE: Sub-process x\n": "tool ended with status 4: dpkg: error processing package bp (--configure): " +
			"installed bp package post-installation script subprocess returned error exit status 7: no licence server",
		"Setting up bp (1) ...\ndpkg: error processing package bp (--configure):\n" +
			" installed bp package post-installation script subprocess returned error exit status 7\n": "tool ended with status 4: dpkg: error processing package bp (--configure): " +
			"installed bp package post-installation script subprocess returned error exit status 7",
		"Unpacking bp (1) ...\ndpkg: error processing archive /r/bp.deb (--unpack):\n trying to overwrite '/usr/bin/tree', which is also in package tree 2\n": "tool ended with status 4: dpkg: error processing archive /r/bp.deb (--unpack): trying to overwrite '/usr/bin/tree', which is also in package tree 2",
		"The following packages have unmet dependencies:\n bp : Depends: nowhere but it is not installable\nE: Unable to correct problems\n":                  "tool ended with status 4: bp : Depends: nowhere but it is not installable; Unable to correct problems",
	} {
		if got := toolError(c, system.Output{Status: 4, Combined: combined}).Error(); got != want {
			t.Errorf("%q: %q, want %q", combined, got, want)
		}
	}
}
