package types

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system/systemtest"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// zones is a node with two time zones, a link for /etc/localtime where it is given, and files.
func zones(t *testing.T, localtime string, files map[string]string) *Session {
	t.Helper()
	all := map[string]string{"etc/": "", "usr/share/zoneinfo/Etc/UTC": "TZif", "usr/share/zoneinfo/Europe/London": "TZif2"}
	for name, content := range files {
		all[name] = content
	}
	s := folder(t, all)
	if localtime != "" {
		if err := os.Symlink(localtime, filepath.Join(s.Root, "etc/localtime")); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// zoneOf returns where /etc/localtime leads and what /etc/timezone has.
func zoneOf(t *testing.T, s *Session) (link, name string) {
	t.Helper()
	info, err := s.Lstat("/etc/localtime")
	if err != nil {
		t.Fatal(err)
	}
	content, err := s.ReadFile("/etc/timezone")
	if err != nil {
		t.Fatal(err)
	}
	return info.Target, string(content)
}

func TestTimezone(t *testing.T) {
	const london, relative = "/usr/share/zoneinfo/Europe/London", "../usr/share/zoneinfo/Europe/London"
	for name, tt := range map[string]struct {
		localtime string
		files     map[string]string
		p         resource.Parameters
		is        string // the zone, where it is not as desired
		link      string
	}{
		"another zone":            {"/usr/share/zoneinfo/Etc/UTC", map[string]string{"etc/timezone": "Etc/UTC\n"}, nil, "Etc/UTC", london},
		"no file with a name":     {"/usr/share/zoneinfo/Etc/UTC", nil, nil, "Etc/UTC", london},
		"none":                    {"", nil, nil, "absent (/etc/localtime)", london},
		"a copy":                  {"", map[string]string{"etc/localtime": "TZif2", "etc/timezone": "Europe/London\n"}, nil, "file (/etc/localtime)", london},
		"a link to somewhere":     {"/opt/zone", nil, nil, "/opt/zone", london},
		"as it should be":         {london, map[string]string{"etc/timezone": "Europe/London"}, nil, "", london},
		"a relative link":         {relative, map[string]string{"etc/timezone": "Europe/London\n"}, nil, "", relative},
		"another name":            {relative, map[string]string{"etc/timezone": "Etc/UTC\n"}, nil, "Etc/UTC (/etc/timezone)", relative},
		"no name":                 {london, nil, nil, "empty (/etc/timezone)", london},
		"by parameter, sensitive": {"/usr/share/zoneinfo/Etc/UTC", nil, resource.Parameters{"timezone": "Europe/London", "sensitive": true}, "Etc/UTC", london},
	} {
		t.Run(name, func(t *testing.T) {
			s := zones(t, tt.localtime, tt.files)
			was := systemtest.Inventory(t, s.Root)
			title := "Europe/London"
			if len(tt.p) > 0 {
				title = "here"
			}
			r := res(t, timezoneType{}, title, tt.p)
			s.ID = r.ID()
			diffs, err := timezoneType{}.Check(t.Context(), s, r)
			if err != nil {
				t.Fatal(err)
			}
			var want []Difference
			if tt.is != "" {
				want = []Difference{{"timezone", tt.is, "Europe/London"}}
			}
			if diff := cmp.Diff(want, diffs); diff != "" {
				t.Error(diff)
			}
			before := applied(t, s, timezoneType{}, r)
			if link, name := zoneOf(t, s); link != tt.link || strings.TrimSpace(name) != "Europe/London" {
				t.Errorf("/etc/localtime -> %s, /etc/timezone: %q", link, name)
			}

			// A run that is taken back brings what others made meanwhile.
			if err := s.Symlink("/etc/localtime", "/usr/share/zoneinfo/Etc/UTC"); err != nil {
				t.Fatal(err)
			}
			if before, err = (timezoneType{}).Widen(t.Context(), s, r, before); err != nil {
				t.Fatal(err)
			}
			s.Image = "run"
			image, err := timezoneType{}.Image(t.Context(), s, r.Title, before)
			if err != nil {
				t.Fatal(err)
			}
			s.Image = ""
			apply(t, s, timezoneType{}, r)
			undone(t, s, timezoneType{}, r, image)
			if link, _ := zoneOf(t, s); link != "/usr/share/zoneinfo/Etc/UTC" {
				t.Errorf("after the image came back, /etc/localtime -> %s", link)
			}

			undone(t, s, timezoneType{}, r, before)
			now := systemtest.Inventory(t, s.Root)
			delete(now, "/var")
			delete(now, "/var/lib")
			if diff := cmp.Diff(was, now); diff != "" {
				t.Error(diff)
			}
			if link, err := os.Readlink(filepath.Join(s.Root, "etc/localtime")); link != tt.localtime {
				t.Errorf("undone, /etc/localtime -> %s, %v", link, err)
			}
		})
	}
}

// A zone that the node does not have, or whose package is missing, is reported before anything is changed.
func TestTimezoneThatIsMissing(t *testing.T) {
	s := zones(t, "/usr/share/zoneinfo/Etc/UTC", nil)
	was := systemtest.Inventory(t, s.Root)
	for _, zone := range []string{"Europe/Londn", "Europe"} {
		r := res(t, timezoneType{}, zone, nil)
		if diffs, err := (timezoneType{}).Check(t.Context(), s, r); err != nil || len(diffs) != 1 {
			t.Errorf("check: %v, %v", diffs, err)
		}
		err := timezoneType{}.Apply(t.Context(), s, r)
		want := "time zone " + zone + ": there is no file /usr/share/zoneinfo/" + zone + "; fix the name, or let package[tzdata] bring it first"
		if err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if diff := cmp.Diff(was, systemtest.Inventory(t, s.Root)); diff != "" {
		t.Error(diff)
	}
}

func TestTimezoneNames(t *testing.T) {
	for zone, valid := range map[string]bool{
		"UTC": true, "Etc/GMT+1": true, "America/Port-au-Prince": true, "America/Argentina/Buenos_Aires": true,
		"": false, "/etc/passwd": false, "../../../etc/passwd": false, "Europe//London": false, "Europe/": false,
		"Europe London": false, "localtime": false, "UTC\n": false,
	} {
		r := resource.Resource{Type: "timezone", Title: "x", Parameters: resource.Parameters{"timezone": zone}}
		if errs := (timezoneType{}).Schema().Validate(r); (len(errs) == 0) != valid {
			t.Errorf("%q: %v", zone, errs)
		}
	}
}
