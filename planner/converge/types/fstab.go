package types

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// fstabEntry is a line of /etc/fstab (fstab(5)).
type fstabEntry struct {
	device, point, fstype, options, dump, pass string
}

func parseFstab(text string) (fstabEntry, bool) {
	f := mountFields(text)
	if len(f) < 2 || strings.HasPrefix(f[0], "#") {
		return fstabEntry{}, false
	}
	e := fstabEntry{
		device: unescapeMount(f[0]), point: unescapeMount(f[1]), fstype: "auto", options: "defaults", dump: "0", pass: "0",
	}
	for i, field := range []*string{&e.fstype, &e.options, &e.dump, &e.pass} {
		if i+2 < len(f) {
			*field = unescapeMount(f[i+2])
		}
	}
	return e, true
}

func (e fstabEntry) String() string {
	fields := []string{e.device, e.point, e.fstype, e.options, e.dump, e.pass}
	for i, f := range fields {
		fields[i] = escapeMount(f)
	}
	return strings.Join(fields, "\t")
}

// with returns the entry with what r says of it; what it does not say stays, or is fstab's default.
func (e fstabEntry) with(r resource.Resource) fstabEntry {
	if e.point == "" {
		e = fstabEntry{point: r.Title, fstype: "auto", options: "defaults", dump: "0", pass: "0"}
	}
	e.device = r.Parameters.StringOr("device", e.device)
	e.fstype = r.Parameters.StringOr("fstype", e.fstype)
	e.options = r.Parameters.StringOr("options", e.options)
	if r.Parameters.Has("dump") {
		e.dump = strconv.FormatInt(r.Parameters.Int("dump"), 10)
	}
	if r.Parameters.Has("pass") {
		e.pass = strconv.FormatInt(r.Parameters.Int("pass"), 10)
	}
	return e
}

// mountParts are the parts of a line that stay as they are when the resource says nothing of them.
var mountParts = []string{"fstype", "options", "dump", "pass"}

// takeMount returns a line of fstab with some parts of another one.
func takeMount(line, from string, parts []string) string {
	e, _ := parseFstab(line)
	was := e
	other, _ := parseFstab(from)
	for _, name := range parts {
		switch name {
		case "device":
			e.device = other.device
		case "fstype":
			e.fstype = other.fstype
		case "options":
			e.options = other.options
		case "dump":
			e.dump = other.dump
		case "pass":
			e.pass = other.pass
		}
	}
	switch e {
	case was:
		return line
	case other:
		return from
	}
	return e.String()
}

// findMount finds the lines of a mount point.
func findMount(point string) func(lines) []span {
	return func(l lines) []span {
		var out []span
		for i, x := range l {
			if e, ok := parseFstab(x.text); ok && path.IsAbs(e.point) && path.Clean(e.point) == point {
				out = append(out, span{i, i + 1})
			}
		}
		return out
	}
}

// setMount brings the first line of r's mount point into the desired form, or adds it; an absent mount point loses all
// its lines.
func setMount(l lines, r resource.Resource) lines {
	found := findMount(r.Title)(l)
	switch {
	case schema.WantsAbsent(r):
		for _, x := range slices.Backward(found) {
			l = l.remove(x)
		}
		return l
	case len(found) == 0:
		return l.insert(len(l), fstabEntry{}.with(r).String())
	}
	is, _ := parseFstab(l[found[0].from].text)
	if should := is.with(r); should != is {
		return l.replace(found[0], should.String())
	}
	return l
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
