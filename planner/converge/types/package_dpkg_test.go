package types

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

const dpkgSample = `Package: dpkg
Status: install ok installed
Architecture: amd64
Version: 1.21.22

Package: adduser
Status: install ok installed
Architecture: all
Multi-Arch: foreign
Version: 3.134
Depends: passwd
Conffiles:
 /etc/adduser.conf cc3493ecd2d09837ffdcc3e25fdfff18
Description: add and remove users and groups
 Depends: this is text
 .

Package: libc6
Status: install ok installed
Architecture: amd64
Version: 2.36-9

Package: libc6
Status: install ok installed
Architecture: i386
Version: 2.36-8

Package: steam
Status: install ok installed
Architecture: i386
Version: 1.0

Package: mc
Status: deinstall ok config-files
Architecture: amd64
Version: 4.8

Package: held
Status: hold ok installed
Architecture: amd64
Version: 2

Package: half
Status: install ok half-configured
Architecture: amd64
Version: 3

Package: broken
Status: install reinstreq half-installed
Architecture: amd64
Version: 3

Package: waits
Status: install ok triggers-pending
Architecture: amd64
Version: 5

Package: moved
Status: purge ok not-installed
Architecture: amd64

Package: moved
Status: install ok installed
Architecture: all
Version: 6
`

func TestDpkgStates(t *testing.T) {
	db := parseDpkg(dpkgSample, "Package: libc6\nStatus: install ok unpacked\nArchitecture: i386\nVersion: 2.36-9\n")
	tests := []struct {
		name, key, text string
		there           bool
	}{
		{"adduser", "adduser", "3.134", true},
		{"libc6", "libc6", "2.36-9", true},
		{"libc6:amd64", "libc6", "2.36-9", true},
		{"libc6:i386", "libc6:i386", "unpacked", true}, // from the journal of an interrupted dpkg
		{"steam", "steam:i386", "1.0", true},
		{"steam:amd64", "steam", "absent", false},
		{"mc", "mc", "absent, configuration files kept", false},
		{"held", "held", "2, on hold", true},
		{"half", "half", "half-configured", true},
		{"broken", "broken", "broken, to be reinstalled", true},
		{"waits", "waits", "5", true},
		{"moved", "moved", "6", true},
		{"nosuch", "nosuch", "absent", false},
	}
	for _, tt := range tests {
		state := db.state(tt.name)
		if got := state.String(); got != tt.text || state.there() != tt.there || db.keyOf(tt.name) != tt.key {
			t.Errorf("%s: key %q, state %q, there %v; want %q, %q, %v", tt.name, db.keyOf(tt.name), got, state.there(), tt.key, tt.text, tt.there)
		}
	}
}

func TestParseRelations(t *testing.T) {
	got := parseRelations("libc6 (>= 2.34), python3:any | perl, foo(>=1),, default-mta | mail-transport-agent")
	want := []dpkgRelation{
		{"libc6 (>= 2.34)", []string{"libc6"}},
		{"python3:any | perl", []string{"python3", "perl"}},
		{"foo(>=1)", []string{"foo"}},
		{"default-mta | mail-transport-agent", []string{"default-mta", "mail-transport-agent"}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(dpkgRelation{})); diff != "" {
		t.Error(diff)
	}
}

func TestReadAuto(t *testing.T) {
	s := folder(t, map[string]string{
		dpkgStatus:  dpkgSample,
		aptExtended: "Package: adduser\nArchitecture: amd64\nAuto-Installed: 1\n\nPackage: libc6\nArchitecture: i386\nAuto-Installed: 1\n\nPackage: mc\nArchitecture: amd64\nAuto-Installed: 0\n",
	})
	db, err := readDpkg(s)
	if err != nil {
		t.Fatal(err)
	}
	auto, err := readAuto(s, db)
	if diff := cmp.Diff(map[string]bool{"adduser": true, "libc6:i386": true}, auto); diff != "" || err != nil {
		t.Error(err, diff)
	}
}

func FuzzParseDpkg(f *testing.F) {
	f.Add(dpkgSample)
	f.Add("Package\n:\n\nPackage: a\nDepends: |,(,:\n")
	f.Fuzz(func(t *testing.T, text string) {
		db := parseDpkg(text)
		for key := range db.packages {
			db.state(key)
			if leaving, _ := db.unneeded(key, []string{key}, nil); len(leaving) > 1 {
				t.Errorf("%q takes %q along", key, leaving)
			}
		}
		db.without()
	})
}
