package types

import (
	"path"
	"slices"
	"strings"
)

// fstab is a table of file systems (fstab(5)).
var fstab = table{
	path: "/etc/fstab", parts: []string{"device", "fstype", "options", "dump", "pass"},
	fresh: row{"device": "", "fstype": "auto", "options": "defaults", "dump": "0", "pass": "0"},
	parse: func(text string) (row, bool) {
		f := mountFields(text)
		if len(f) < 2 || strings.HasPrefix(f[0], "#") {
			return row{}, false
		}
		e := row{"fstype": "auto", "options": "defaults", "dump": "0", "pass": "0"}
		for i, field := range f[:min(len(f), len(fstabFields))] {
			e[fstabFields[i]] = unescapeMount(field)
		}
		return e, true
	},
	format: func(e row) string {
		fields := make([]string, len(fstabFields))
		for i, name := range fstabFields {
			fields[i] = escapeMount(e[name])
		}
		return strings.Join(fields, "\t")
	},
}

var fstabFields = []string{"device", "name", "fstype", "options", "dump", "pass"}

// findMount finds the lines of a mount point.
func findMount(point string) finder {
	return fstab.find(func(e row) bool { return path.IsAbs(e["name"]) && path.Clean(e["name"]) == point })
}

// mounted is what is mounted at a mount point: the uppermost of several.
type mounted struct {
	Source  string `json:"source"`
	FSType  string `json:"fstype"`
	Options string `json:"options"` // of the mount, then of the file system
}

// findMounted looks a mount point up in the text of mountinfo (proc_pid_mountinfo(5)); nil when nothing is mounted
// there.
func findMounted(mountinfo string, point string) *mounted {
	var out *mounted
	for text := range strings.Lines(mountinfo) {
		f := mountFields(text)
		dash := slices.Index(f, "-")
		if dash < 6 || len(f) < dash+3 || unescapeMount(f[4]) != point {
			continue
		}
		out = &mounted{Source: unescapeMount(f[dash+2]), FSType: f[dash+1], Options: f[5]}
		if len(f) > dash+3 {
			out.Options += "," + f[dash+3]
		}
	}
	return out
}

// liveFlags are the options that a mount shows and that can be compared with those wanted: each with its opposite.
var liveFlags = [][2]string{
	{"ro", "rw"}, {"nosuid", "suid"}, {"nodev", "dev"}, {"noexec", "exec"}, {"noatime", "atime"},
	{"nodiratime", "diratime"},
}

// against compares the options of the mount with those wanted, as far as both say something about a flag, and returns
// those that are not as wanted.
func (m mounted) against(options string) (is, should []string) {
	shown := strings.Split(m.Options, ",")
	wanted := strings.Split(options, ",")
	for _, flag := range liveFlags {
		want := ""
		for _, o := range wanted { // the last one counts, as in mount(8)
			if o == flag[0] || o == flag[1] {
				want = o
			}
		}
		have := flag[1]
		if i := slices.IndexFunc(shown, func(o string) bool { return o == flag[0] || o == flag[1] }); i >= 0 {
			have = shown[i] // the mount's own comes before the file system's
		}
		// atime is not kept by the kernel as such: it may show as relatime.
		if want != "" && want != "atime" && want != "diratime" && want != have {
			is, should = append(is, have), append(should, want)
		}
	}
	return is, should
}

// mountFields splits a line of fstab or mountinfo: by blanks and tabs, and no other space.
func mountFields(text string) []string {
	return strings.FieldsFunc(strings.TrimSuffix(text, "\n"), func(r rune) bool { return r == ' ' || r == '\t' })
}

// mountEscapes are the characters that fstab and mountinfo cannot hold as they are.
var (
	mountEscapes   = strings.NewReplacer(`\`, `\134`, " ", `\040`, "\t", `\011`, "\n", `\012`)
	mountUnescapes = strings.NewReplacer(`\134`, `\`, `\040`, " ", `\011`, "\t", `\012`, "\n", `\043`, "#")
)

func escapeMount(text string) string {
	text = mountEscapes.Replace(text)
	if strings.HasPrefix(text, "#") {
		return `\043` + text[1:]
	}
	return text
}

func unescapeMount(text string) string { return mountUnescapes.Replace(text) }
