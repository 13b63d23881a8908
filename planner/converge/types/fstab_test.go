package types

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

func TestParseFstab(t *testing.T) {
	entry := func(device, name, fstype, options, dump, pass string) row {
		return row{"device": device, "name": name, "fstype": fstype, "options": options, "dump": dump, "pass": pass}
	}
	for text, want := range map[string]row{
		"UUID=1 / ext4 errors=remount-ro 0 1":    entry("UUID=1", "/", "ext4", "errors=remount-ro", "0", "1"),
		"/dev/sdb\t/mnt/a\\040b\\011c xfs":       entry("/dev/sdb", "/mnt/a b\tc", "xfs", "defaults", "0", "0"),
		"  tmpfs /tmp tmpfs noexec 0 0 # mine":   entry("tmpfs", "/tmp", "tmpfs", "noexec", "0", "0"),
		`\134\134host /s cifs a\040b 0 0`:        entry(`\\host`, "/s", "cifs", "a b", "0", "0"),
		`//nas/\043x /x cifs credentials=/c 1 2`: entry("//nas/#x", "/x", "cifs", "credentials=/c", "1", "2"),
	} {
		got, ok := fstab.parse(text)
		if diff := cmp.Diff(want, got); diff != "" || !ok {
			t.Errorf("%s: %v %s", text, ok, diff)
		}
		if again, _ := fstab.parse(fstab.format(got)); !maps.Equal(again, got) {
			t.Errorf("%s: written as %s", text, fstab.format(got))
		}
	}
	for _, text := range []string{"", "# /dev/sda / ext4", "junk"} {
		if e, ok := fstab.parse(text); ok {
			t.Errorf("%q: %+v", text, e)
		}
	}
}

const mountinfoText = `22 1 0:20 / / rw,relatime shared:1 - ext4 /dev/root rw
40 22 0:33 / /mnt/a\040b rw,nosuid,noexec,relatime shared:2 master:3 - tmpfs first rw,size=1k
41 40 0:34 /sub /mnt/a\040b ro,relatime - xfs /dev/sdb rw,attr2
42 22 0:35 / /x rw - proc none
damaged
`

func TestFindMounted(t *testing.T) {
	for point, want := range map[string]*mounted{
		"/":        {"/dev/root", "ext4", "rw,relatime,rw"},
		"/mnt/a b": {"/dev/sdb", "xfs", "ro,relatime,rw,attr2"},
		"/x":       {"none", "proc", "rw"},
		"/y":       nil,
	} {
		if diff := cmp.Diff(want, findMounted(mountinfoText, point)); diff != "" {
			t.Errorf("%s: %s", point, diff)
		}
	}
}

func TestMountedAgainstOptions(t *testing.T) {
	for _, tt := range []struct {
		live, wanted string
		is, should   []string
	}{
		{"rw,relatime,rw", "defaults", nil, nil},
		{"rw,relatime,rw", "ro,noexec", []string{"rw", "exec"}, []string{"ro", "noexec"}},
		{"ro,nosuid,rw", "rw,suid", []string{"ro", "nosuid"}, []string{"rw", "suid"}},
		{"ro,rw", "rw,ro", nil, nil},
		{"rw,noatime", "noatime,uid=5", nil, nil},
		{"rw,relatime", "atime", nil, nil},
	} {
		is, should := mounted{Options: tt.live}.against(tt.wanted)
		if diff := cmp.Diff([][]string{tt.is, tt.should}, [][]string{is, should}); diff != "" {
			t.Errorf("%s against %s: %s", tt.live, tt.wanted, diff)
		}
	}
}

func FuzzFstab(f *testing.F) {
	f.Add("UUID=1 / ext4 defaults 0 1\n", "/mnt", "/dev/sdb", "ro", false)
	f.Add("a /mnt\r\nb /mnt/ xfs", "/mnt", "c d", "x", true)
	f.Add("0\n", "/", "0", "\v", false)
	f.Fuzz(func(t *testing.T, text, point, device, options string, absent bool) {
		r := resource.Resource{Type: "mount", Title: point, Parameters: resource.Parameters{"device": device, "options": options}}
		if absent {
			r.Parameters["ensure"] = "absent"
		}
		if len(mountType{}.Schema().Validate(r)) > 0 {
			t.Skip("no case: validation refuses this mount before any file is read")
		}
		fuzzEditor(t, text, findMount(point), func(l lines) lines {
			l = fstab.set(l, findMount(point)(l), r)
			if found := findMount(point)(l); !absent {
				if e, _ := fstab.parse(l[found[0].from].text); e["device"] != device || e["options"] != options {
					t.Fatalf("%q reads as %+v", l.bytes(), e)
				}
			}
			return l
		}, func(l lines, former []block) lines {
			return l.restore(findMount(point)(l), former, 1)
		})
	})
}
