package encryption

import (
	"bytes"
	"encoding/hex"
	"slices"
	"strings"
	"testing"
)

func parse(t *testing.T, text string) *Keys {
	t.Helper()
	k, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

const (
	first  = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
	second = "ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8="
)

func encrypt(t *testing.T, k *Keys, zone string) []byte {
	t.Helper()
	out, err := k.Encrypt(zone, "manifest of lon1", []byte("hunter2"))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestKeys checks who can decrypt what, and that errors name the key that is needed.
func TestKeys(t *testing.T) {
	site := parse(t, first)
	worker := func(zone string) string {
		text, err := site.ForZone(zone)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	id := func(zone string) string { return hex.EncodeToString(site.of(zone)[0].id()) }
	for _, tt := range []struct {
		name, keys, zone, wrong string // empty: it can be decrypted
	}{
		{"the site", first, "rack1", ""},
		{"the site, without a zone", first, "", ""},
		{"a worker of the zone", worker("rack1"), "rack1", ""},
		{"the site, as control", first, Control, ""},
		{"a worker of nodes without a zone", worker(""), "", ""},
		{"a worker of two zones", worker("rack1") + " " + worker(""), "", ""},
		{"a new key before the old one", second + ", " + first, "rack1", ""},
		{"a worker of a zone, without a zone", worker("rack1"), "", `key ` + id("") + ` of the zone "": the keys here are those of the zones "rack1"`},
		{"a worker of another zone", worker("rack2"), "rack1", `key ` + id("rack1") + ` of the zone "rack1": the keys here are those of the zones "rack2"`},
		{"a worker of a zone, as control", worker("rack1"), Control, `key ` + id(Control) + ` of who hosts runs: the keys here are those of the zones "rack1"`},
		{"another key", second, "rack1", `key ` + id("rack1") + ` of the zone "rack1": the keys here are ` +
			hex.EncodeToString(parse(t, second).of("rack1")[0].id())},
		{"no key", "", "rack1", `key ` + id("rack1") + ` of the zone "rack1": there is no encryption key. Set encryption_key of the provider, or SLIPWAY_KEY`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			content, err := parse(t, tt.keys).Decrypt(tt.zone, "manifest of lon1", encrypt(t, site, tt.zone))
			switch {
			case tt.wrong == "" && (err != nil || string(content) != "hunter2"):
				t.Errorf("%q, %v", content, err)
			case tt.wrong != "" && (err == nil || !strings.Contains(err.Error(), tt.wrong)):
				t.Errorf("%v, want %s", err, tt.wrong)
			}
		})
	}
	if _, err := parse(t, worker("rack1")).ForZone("rack2"); err == nil {
		t.Error("a worker can derive the key of another zone")
	}
	for _, zone := range []string{"rack2", "", Control} {
		if _, err := parse(t, worker("rack1")).Encrypt(zone, "", nil); err == nil {
			t.Errorf("a worker encrypts for the zone %q", zone)
		}
		content, err := site.Decrypt(zone, "manifest of lon1", encrypt(t, parse(t, worker("rack1")), "rack1"))
		if err == nil || !strings.Contains(err.Error(), "of the zone \"rack1\", and must be with that of "+whose(zone)) {
			t.Errorf("what a worker of rack1 encrypted is taken for the zone %q: %q, %v", zone, content, err)
		}
	}
	for _, zone := range []string{Control, "rack1 rack2", "rack1,rack2", "rack1:x"} {
		if key, err := site.ForZone(zone); err == nil {
			t.Errorf("the zone %q has the key %q", zone, key)
		}
	}
	if got := parse(t, worker("rack1")+" "+worker("")+" "+worker("rack1")).Zones(); !slices.Equal(got, []string{"", "rack1"}) {
		t.Errorf("zones %q", got)
	}
}

// TestKeysThatWerePrintedBefore: with the key of its zone, `key --zone` printed that of nodes without a zone. Both stay
// what they are, and neither is that of who hosts runs.
func TestKeysThatWerePrintedBefore(t *testing.T) {
	old := parse(t, "rack1:OhGc4q6fQRxlU6KMcorYtyaGGlYa36Jc5gjIFefj0CQ= :1WLAa6CmY4A6ev4zI4Wtb84yzaPFHyRId5znWu2VXxc=")
	site := parse(t, first)
	for _, zone := range []string{"rack1", ""} {
		if content, err := old.Decrypt(zone, "manifest of lon1", encrypt(t, site, zone)); err != nil {
			t.Errorf("zone %q: %q, %v", zone, content, err)
		}
	}
	if content, err := old.Decrypt(Control, "manifest of lon1", encrypt(t, site, Control)); err == nil {
		t.Errorf("what no worker of a zone reads: %q", content)
	}
}

// TestDamagedContents checks that a content is returned only as it was encrypted, and for what it was encrypted.
func TestDamagedContents(t *testing.T) {
	k := parse(t, first)
	whole := encrypt(t, k, "rack1")
	if _, err := k.Decrypt("rack1", "manifest of lon2", whole); err == nil || !strings.Contains(err.Error(), "in the place of another") {
		t.Error(err)
	}
	older := bytes.Clone(whole)
	older[0] = 1
	if _, err := k.Decrypt("rack1", "manifest of lon1", older); err == nil || !strings.Contains(err.Error(), "an older slipway encrypted it") {
		t.Error(err)
	}
	for i := range whole {
		damaged := bytes.Clone(whole)
		damaged[i] ^= 1
		if content, err := k.Decrypt("rack1", "manifest of lon1", damaged); err == nil {
			t.Errorf("byte %d: %q", i, content)
		}
		if content, err := k.Decrypt("rack1", "manifest of lon1", whole[:i]); err == nil {
			t.Errorf("the first %d bytes: %q", i, content)
		}
	}
	if bytes.Equal(whole, encrypt(t, k, "rack1")) {
		t.Error("a content is encrypted twice in the same way")
	}
	if bytes.Contains(whole, []byte("hunter2")) {
		t.Errorf("%q", whole)
	}
}

// TestAddresses checks that the address of a content depends on key, zone and use, and on nothing else.
func TestAddresses(t *testing.T) {
	seen := map[string]string{}
	for _, key := range []string{first, second} {
		for _, zone := range []string{"", "rack1"} {
			for _, use := range []string{"lon1", "lon2"} {
				a, err := parse(t, key).Address(zone, use, []byte("yes"))
				if err != nil || len(a) != 64 {
					t.Fatalf("%q, %v", a, err)
				}
				if other := seen[a]; other != "" {
					t.Errorf("%s %s %s: the same as %s", key, zone, use, other)
				}
				seen[a] = key + zone + use
				if b, err := parse(t, key).Address(zone, use, []byte("yes")); err != nil || a != b {
					t.Errorf("%s, then %s, %v", a, b, err)
				}
			}
		}
	}
}

// TestInvalidKeys checks that what is no key is refused without being shown.
func TestInvalidKeys(t *testing.T) {
	for _, text := range []string{"hunter2", first + " hunter2", "rack1:hunter2", first[:40], strings.TrimRight(first, "="),
		first + first, "rack1:" + first + ":" + first, "rack1:", `"rack1:` + first + `"`} {
		want := "`openssl rand -base64 32`"
		if strings.Contains(text, ":") {
			want = "`terraform-provider-slipway key --zone`" // another key of the provider would not help
		}
		_, err := Parse(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
			continue
		}
		for _, part := range []string{"hunter2", first[:10]} {
			if strings.Contains(err.Error(), part) {
				t.Errorf("the error shows it: %v", err)
			}
		}
	}
	if k, err := Parse(New()); err != nil || k == nil {
		t.Error(err)
	}
	if k, err := Parse(" \n"); err != nil || k != nil {
		t.Errorf("%v, %v", k, err)
	}
}
