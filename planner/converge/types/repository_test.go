package types

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system/systemtest"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

const pgpKey = "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nmDME\n-----END PGP PUBLIC KEY BLOCK-----"

const fetchesIndex = "apt-get update -o Dir::Etc::sourcelist=/etc/apt/sources.list.d/example.sources -o Dir::Etc::sourceparts=-" +
	" -o APT::Get::List-Cleanup=0 -o APT::Update::Error-Mode=any"

func TestRepositories(t *testing.T) {
	p := func(pairs ...any) resource.Parameters {
		out := resource.Parameters{}
		for i := 0; i < len(pairs); i += 2 {
			out[pairs[i].(string)] = pairs[i+1]
		}
		return out
	}
	const source, repo = "/etc/apt/sources.list.d/example.sources", "/etc/yum.repos.d/example.repo"
	for name, tt := range map[string]struct {
		typ        string
		parameters resource.Parameters
		there      map[string]string
		want       map[string]string
		ran        []string
	}{
		"plain": {"apt_repository", p("location", "https://deb.example.com/debian", "release", "bookworm"), nil,
			map[string]string{source: "Types: deb\nURIs: https://deb.example.com/debian\nSuites: bookworm\nComponents: main\n"}, []string{fetchesIndex}},
		"all": {"apt_repository", p("location", []any{"https://a.example.com", "https://b.example.com"}, "release", []any{"x", "y"}, "repos", []any{"m", "n"},
			"types", []any{"deb", "deb-src"}, "architecture", "amd64", "key", pgpKey, "allow_unsigned", false, "check_valid_until", false, "enabled", true), map[string]string{"etc/apt/sources.list.d/example.sources": "old\n"},
			map[string]string{source: "Enabled: yes\nTypes: deb deb-src\nURIs: https://a.example.com https://b.example.com\nSuites: x y\nComponents: m n\nArchitectures: amd64\n" +
				"Signed-By: /etc/apt/keyrings/example.asc\nTrusted: no\nCheck-Valid-Until: no\n", "/etc/apt/keyrings/example.asc": pgpKey + "\n"}, []string{fetchesIndex}},
		"a directory, not used": {"apt_repository", p("location", "file:/srv/apt", "release", "./", "keyring", "/k.gpg", "enabled", false), nil,
			map[string]string{source: "Enabled: no\nTypes: deb\nURIs: file:/srv/apt\nSuites: ./\nSigned-By: /k.gpg\n"}, nil},
		"absent": {"apt_repository", p("ensure", "absent"), map[string]string{"etc/apt/sources.list.d/example.sources": "old\n"}, map[string]string{source: "-"}, nil},
		"yum": {"yum_repository", p("baseurl", "https://rpm.example.com/$basearch"), nil,
			map[string]string{repo: "[example]\nname=example\nbaseurl=https://rpm.example.com/$basearch\n"}, nil},
		"yum with all": {"yum_repository", p("descr", "An example", "mirrorlist", "https://rpm.example.com/m?a=b", "enabled", true, "gpgcheck", true, "repo_gpgcheck", false, "priority", int64(10),
			"exclude", []any{"a*", "b"}, "key", pgpKey, "sslcacert", "/ca.pem"), nil,
			map[string]string{repo: "[example]\nname=An example\nmirrorlist=https://rpm.example.com/m?a=b\nenabled=1\ngpgcheck=1\nrepo_gpgcheck=0\npriority=10\nexclude=a* b\nsslcacert=/ca.pem\n" +
				"gpgkey=file:///etc/pki/rpm-gpg/RPM-GPG-KEY-example\n", "/etc/pki/rpm-gpg/RPM-GPG-KEY-example": pgpKey + "\n"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			rec := &recorder{}
			s := wholeMachine(t, tt.there, rec.Run)
			was := systemtest.Inventory(t, s.Root)
			typ := filesType{name: tt.typ}
			r := res(t, typ, "example", tt.parameters)
			s.ID = r.ID()
			before := applied(t, s, typ, r)
			now := systemtest.Inventory(t, s.Root)
			for at, content := range tt.want {
				if is, err := s.ReadFile(at); content != "-" && (err != nil || string(is) != content) || content == "-" && now[at] != "" {
					t.Errorf("%s: %q, %v", at, is, err)
				}
			}
			rec.WantRan(t, tt.ran...)
			undone(t, s, typ, r, before)
			now = systemtest.Inventory(t, s.Root)
			delete(now, "/var")
			delete(now, "/var/lib")
			if diff := cmp.Diff(was, now); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A repository that apt cannot read leaves what was there, so that the next run tries again, and others are not disturbed.
func TestRepositoryThatCannotBeFetched(t *testing.T) {
	for _, old := range []string{"", "Types: deb\n"} {
		rec := &recorder{Answers: map[string]system.Output{"apt-get": {Status: 100, Combined: "E: Failed to fetch http://x/InRelease\n"}}}
		there := map[string]string{"etc/apt/sources.list.d/": ""}
		if old != "" {
			there["etc/apt/sources.list.d/example.sources"] = old
		}
		s := wholeMachine(t, there, rec.Run)
		was := systemtest.Inventory(t, s.Root)
		typ := filesType{name: "apt_repository"}
		r := res(t, typ, "example", resource.Parameters{"location": "http://x", "release": "y", "keyring": "/k"})
		err := typ.Apply(t.Context(), s, r)
		const want = "fetch the index of the repository: apt-get ended with status 100: Failed to fetch http://x/InRelease; the files are as they were before"
		if err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
		if diff := cmp.Diff(was, systemtest.Inventory(t, s.Root)); diff != "" {
			t.Error(diff)
		}
	}
}

func TestRepositoriesRefuse(t *testing.T) {
	for _, tt := range []struct {
		typ, title   string
		parameters   resource.Parameters
		wrong, error string
	}{
		{"apt_repository", "../x", resource.Parameters{"ensure": "absent"}, "title", "is not the name of a repository"},
		{"apt_repository", "x", resource.Parameters{"release": "y"}, "location", "required"},
		{"apt_repository", "x", resource.Parameters{"location": "https://a"}, "release", "required"},
		{"apt_repository", "x", resource.Parameters{"location": "https://u:hunter2@a", "release": "y"}, "location", "holds a user name or a password"},
		{"apt_repository", "x", resource.Parameters{"location": "https://a\nTrusted: yes", "release": "y"}, "location", "is not a URL"},
		{"apt_repository", "x", resource.Parameters{"location": "/srv/apt", "release": "y"}, "location", "is not a URL"},
		{"apt_repository", "x", resource.Parameters{"location": "https://a", "release": "y z"}, "release", "must be one word"},
		{"apt_repository", "x", resource.Parameters{"location": "https://a", "release": "./", "repos": "main"}, "repos", "does not go with"},
		{"apt_repository", "x", resource.Parameters{"location": "https://a", "release": "y", "types": "rpm"}, "types", "must be deb or deb-src"},
		{"apt_repository", "x", resource.Parameters{"location": "https://a", "release": "y", "key": "https://a/key"}, "key", "armored text"},
		{"apt_repository", "x", resource.Parameters{"location": "https://a", "release": "y", "key": pgpKey, "keyring": "/k"}, "keyring", "excludes key"},
		{"yum_repository", "x", resource.Parameters{}, "baseurl", "required"},
		{"yum_repository", "x", resource.Parameters{"baseurl": "https://u@a"}, "baseurl", "holds a user name or a password"},
		{"yum_repository", "x", resource.Parameters{"baseurl": "https://a", "descr": "a\nb"}, "descr", "line break"},
		{"yum_repository", "x", resource.Parameters{"baseurl": "https://a", "priority": int64(0)}, "priority", "1 to 99"},
		{"yum_repository", "x", resource.Parameters{"baseurl": "https://a", "key": pgpKey, "gpgkey": "https://k"}, "gpgkey", "excludes key"},
	} {
		errs := filesType{name: tt.typ}.Schema().Validate(resource.Resource{Type: tt.typ, Title: tt.title, Parameters: tt.parameters})
		if len(errs) != 1 || errs[0].Attribute != tt.wrong || !strings.Contains(errs[0].Message, tt.error) || strings.Contains(errs[0].Error(), "hunter2") {
			t.Errorf("%s %v: %v, want %s: %s", tt.typ, tt.parameters, errs, tt.wrong, tt.error)
		}
	}
}
