package types

import (
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system/systemtest"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// TestLanguages: a package of each language is installed, found to have drifted, brought to a version, and taken away.
func TestLanguages(t *testing.T) {
	for _, tt := range []struct {
		provider, name, program string
		list                    string
		empty, one, two         string // what the list prints
		install, exact, remove  string
		newest, prints          string
	}{
		{
			"gem", "rake", "/usr/bin/gem", "list --local", "\n*** LOCAL GEMS ***\n\n", "rake (default: 13.0.6)\n", "rake (13.1.0, default: 13.0.6)\n",
			"install --no-document rake", "install --no-document --version 13.1.0 rake", "uninstall --all --executables rake",
			"list --remote --exact rake", "\n*** REMOTE GEMS ***\n\nrake (13.2.1 ruby java)\n",
		},
		{
			"pip", "Py_Yaml", "/usr/local/bin/pip3", "list --format=json --disable-pip-version-check", "[]", `[{"name": "py.YAML", "version": "6.0"}]`,
			`[{"name":"py-yaml","version":"13.1.0"}]`,
			"install --quiet --disable-pip-version-check Py_Yaml", "install --quiet --disable-pip-version-check Py_Yaml==13.1.0",
			"uninstall --yes --quiet --disable-pip-version-check Py_Yaml",
			"index versions --disable-pip-version-check Py_Yaml", "Py_Yaml (13.2.1)\nAvailable versions: 13.2.1, 6.0\n",
		},
		{
			"npm", "@vue/cli", "/usr/bin/npm", "list --global --depth=0 --json", `{"name": "lib"}`, `{"dependencies": {"@vue/cli": {"version": "5.0.8"}}}`,
			`{"dependencies": {"@vue/cli": {"version": "13.1.0"}, "lost": {"missing": true}}}`,
			"install --global --no-fund --no-audit @vue/cli@latest", "install --global --no-fund --no-audit @vue/cli@13.1.0", "uninstall --global @vue/cli",
			"view @vue/cli version", "13.2.1\n",
		},
	} {
		t.Run(tt.provider, func(t *testing.T) {
			p := tt.program + " "
			r := &recorder{Answers: map[string]system.Output{p + tt.list: systemtest.Prints(tt.empty), p + tt.newest: systemtest.Prints(tt.prints)}}
			now := func(printed string) func() { return func() { r.Answers[p+tt.list] = systemtest.Prints(printed) } }
			r.Effects = map[string]func(){p + tt.install: now(tt.one), p + tt.exact: now(tt.two), p + tt.remove: now(tt.empty)}
			typ := packageType{}
			of := func(ensure string) resource.Resource {
				return res(t, typ, tt.name, resource.Parameters{"provider": tt.provider, "ensure": ensure})
			}
			s := wholeMachine(t, map[string]string{"/usr/bin/apt-get": ""}, r.Run)
			if diffs, err := typ.Check(t.Context(), s, of("installed")); err != nil || len(diffs) != 1 {
				t.Errorf("without the program: %v, %v", diffs, err)
			}
			if err := typ.Apply(t.Context(), s, of("installed")); err == nil || !strings.Contains(err.Error(), "the node does not have "+tt.provider+"; install it first") {
				t.Error(err)
			}
			s = wholeMachine(t, map[string]string{tt.program: "", "/usr/bin/apt-get": ""}, r.Run)
			before := applied(t, s, typ, of("installed"))
			r.WantRan(t, p+tt.list, p+tt.install, p+tt.list)
			before = updated(t, s, typ, of("13.1.0"), before)
			r.WantRan(t, p+tt.exact, p+tt.list)
			if diffs, err := typ.Check(t.Context(), s, of("latest")); err != nil || len(diffs) != 1 || diffs[0].Should != "13.2.1" {
				t.Errorf("latest: %v, %v", diffs, err)
			}
			r.WantRan(t, p+tt.newest)
			undone(t, s, typ, of("installed"), before)
			r.WantRan(t, p+tt.remove, p+tt.list)
			if tt.provider == "pip" && !r.Env[p+tt.remove]["PIP_BREAK_SYSTEM_PACKAGES=1"] {
				t.Error("pip refuses to remove what it installed itself")
			}

			r.Answers[p+tt.list] = systemtest.Prints(tt.two)
			s.Forget()
			before = applied(t, s, typ, of("absent"))
			undone(t, s, typ, of("absent"), before)
			r.WantRan(t, p+tt.list, p+tt.remove, p+tt.list, p+tt.exact, p+tt.list)
		})
	}
}

// TestLanguageIsNotTheNodesOwn: a package without a provider is one of the node, and one of a language is another object.
func TestLanguageIsNotTheNodesOwn(t *testing.T) {
	s := wholeMachine(t, map[string]string{"/usr/bin/npm": ""}, noCommand)
	if _, _, err := findManager(s, ""); err == nil {
		t.Error("npm is no package manager of a node")
	}
	target := packageType{}.Schema().Target
	name, _ := target(res(t, packageType{}, "six", nil))
	other, _ := target(res(t, packageType{}, "six of pip", resource.Parameters{"name": "six", "provider": "pip"}))
	if name == other {
		t.Errorf("package and pip's are both %q", name)
	}
}
