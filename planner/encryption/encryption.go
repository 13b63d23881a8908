// Package encryption encrypts what a run leaves in databases of others: what is in the journal for workers, and what
// Temporal stores (design.md 11). It uses AES-256-GCM. The keys of zones, and that of [Control], are derived from that
// of the site: a worker that has the key of its zone cannot read what is for others, nor give its own for theirs.
//
// A key as text is 32 random bytes in base64, that of a zone with the zone before it: rack1:BASE64. Several are
// separated by spaces or commas. The first that fits encrypts, and all decrypt: a new key is put before the old one.
package encryption

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Remedy is what errors say of a key that is missing.
const Remedy = "Set encryption_key of the provider, or SLIPWAY_KEY, to the key with which it was encrypted"

// Control is in the place of a zone for what no worker of a zone reads: what a run is asked for, what it does, and what
// came of it. Who hosts runs, and who asks for them, has its key. It is the name of no zone.
const Control = "control workers"

// keySize is that of keys, in bytes.
const keySize = 32

// Keys encrypt and decrypt. They are safe for concurrent use. Nil is no key.
type Keys struct {
	sites []secret
	zones []zoneKey // keys of zones alone, as workers have them
}

// secret is 32 random bytes.
type secret []byte

// zoneKey is the key of a zone. The zone with the empty name is that of nodes without one.
type zoneKey struct {
	zone   string
	secret secret
}

// New returns a random key of the provider, as text.
func New() string {
	key := make(secret, keySize)
	_, _ = rand.Read(key) // never fails
	return key.String()
}

func (s secret) String() string { return base64.StdEncoding.EncodeToString(s) }

// separates reports whether a character is between keys.
func separates(r rune) bool { return r == ',' || unicode.IsSpace(r) }

// Parse returns the keys in a text; nil when it has none. Its errors have nothing of the text.
func Parse(text string) (*Keys, error) {
	fields := strings.FieldsFunc(text, separates)
	if len(fields) == 0 {
		return nil, nil //nolint:nilnil // no key is what most have
	}
	k := &Keys{}
	for i, field := range fields {
		zone, encoded, ofZone := strings.Cut(field, ":")
		if !ofZone {
			encoded = field
		}
		key, err := base64.StdEncoding.DecodeString(encoded)
		if ofZone && (err != nil || len(key) != keySize) {
			return nil, fmt.Errorf("key %d of %d: must be the whole line that `terraform-provider-slipway key --zone` prints "+
				"for its zone, without quotes", i+1, len(fields))
		}
		if err != nil || len(key) != keySize {
			return nil, fmt.Errorf("key %d of %d: must be 32 bytes in base64, as `openssl rand -base64 32` prints them",
				i+1, len(fields))
		}
		if ofZone {
			k.zones = append(k.zones, zoneKey{zone, key})
		} else {
			k.sites = append(k.sites, key)
		}
	}
	return k, nil
}

// ForZone returns, as text, the key of a zone, which its workers need; the empty zone is that of nodes without one. It
// fails without the key of the provider, and for what is the name of no zone.
func (k *Keys) ForZone(zone string) (string, error) {
	switch {
	case k.OfZone():
		return "", fmt.Errorf("keys of zones come from the key of the provider, and it has keys of zones alone: %q", k.Zones())
	case k == nil:
		return "", errors.New("keys of zones come from the key of the provider, and it is not set")
	case strings.ContainsFunc(zone, func(r rune) bool { return r == ':' || separates(r) }):
		return "", fmt.Errorf("the zone %q must be without white space, ',' and ':'", zone)
	}
	var out []string
	for _, key := range k.of(zone) {
		out = append(out, zone+":"+key.secret.String())
	}
	return strings.Join(out, " "), nil
}

// of returns the keys of a zone, the one that encrypts first.
func (k *Keys) of(zone string) (keys []zoneKey) {
	if k == nil {
		return nil
	}
	for _, s := range k.sites {
		keys = append(keys, zoneKey{zone, s.derive("zone " + zone)})
	}
	for _, z := range k.zones {
		if z.zone == zone {
			keys = append(keys, z)
		}
	}
	return keys
}

// IDs returns the ids of the keys of a zone, that of the one that encrypts first. An id reveals nothing of its key.
func (k *Keys) IDs(zone string) (ids []string) {
	for _, key := range k.of(zone) {
		ids = append(ids, hex.EncodeToString(key.id()))
	}
	return ids
}

// OfZone reports whether the keys are those of zones alone.
func (k *Keys) OfZone() bool { return k != nil && len(k.sites) == 0 }

// Zones returns the zones of which there is a key beside that of the site.
func (k *Keys) Zones() (zones []string) {
	if k == nil {
		return nil
	}
	for _, z := range k.zones {
		zones = append(zones, z.zone)
	}
	slices.Sort(zones)
	return slices.Compact(zones)
}

// derive returns a key for one purpose.
func (s secret) derive(purpose string) secret {
	key, err := hkdf.Key(sha256.New, s, nil, "slipway "+purpose, keySize)
	if err != nil {
		panic(err) // the size is a constant below the limit
	}
	return key
}

// idSize is that of the id of a key, in bytes. An id reveals nothing of the key.
const idSize = 8

func (z zoneKey) id() []byte { return z.secret.derive("id")[:idSize] }

// cipher returns that of a key. Nonces are random: a key may encrypt 2^32 contents (NIST SP 800-38D, 8.3).
func (z zoneKey) cipher() (cipher.AEAD, error) {
	block, err := aes.NewCipher(z.secret.derive("content"))
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// format is the first byte of what [Keys.Encrypt] returns. It is followed by the id of the key, the length of the
// zone's name in a byte and the name, and the content with its nonce. What older had was not bound to its run or
// workflow.
const (
	format = 2
	older  = 1
)

// zoneLimit is the limit of the name of a zone, in bytes.
const zoneLimit = 255

// Encrypt encrypts a content for a zone, or for [Control]. It is bound to what it is for: Decrypt needs the same.
func (k *Keys) Encrypt(zone, bound string, content []byte) ([]byte, error) {
	keys := k.of(zone)
	switch {
	case len(keys) == 0:
		return nil, fmt.Errorf("cannot encrypt with the key of %s: %w", whose(zone), k.missing(zone))
	case len(zone) > zoneLimit:
		return nil, fmt.Errorf("zone %q: the name must have at most %d bytes", zone, zoneLimit)
	}
	aead, err := keys[0].cipher()
	if err != nil {
		return nil, err
	}
	header := slices.Concat([]byte{format}, keys[0].id(), []byte{byte(len(zone))}, []byte(zone))
	return aead.Seal(slices.Clip(header), nil, content, associated(header, bound)), nil
}

func associated(header []byte, bound string) []byte { return append(slices.Clip(header), bound...) }

// whose is the zone of a key in errors.
func whose(zone string) string {
	if zone == Control {
		return "who hosts runs"
	}
	return fmt.Sprintf("the zone %q", zone)
}

// Decrypt decrypts what Encrypt returned for a zone. What was encrypted for another one is an error: who has the key of
// one zone gives nothing for another. Its errors name the id of the key that is needed.
func (k *Keys) Decrypt(zone, bound string, encrypted []byte) ([]byte, error) {
	const fixed = 1 + idSize + 1
	if len(encrypted) > 0 && encrypted[0] == older {
		return nil, errors.New("an older slipway encrypted it, and this one reads nothing that is not bound to its run")
	}
	if len(encrypted) < fixed || encrypted[0] != format || len(encrypted) < fixed+int(encrypted[fixed-1]) {
		return nil, errors.New("it is damaged, or a newer slipway encrypted it: its header is not known")
	}
	header := encrypted[:fixed+int(encrypted[fixed-1])]
	id, encryptedFor := header[1:1+idSize], string(header[fixed:])
	if encryptedFor != zone {
		return nil, fmt.Errorf("it is encrypted with the key %x of %s, and must be with that of %s: an older slipway wrote it, "+
			"or it was put in the place of another", id, whose(encryptedFor), whose(zone))
	}
	for _, key := range k.of(zone) {
		if !bytes.Equal(key.id(), id) {
			continue
		}
		aead, err := key.cipher()
		if err != nil {
			return nil, err
		}
		content, err := aead.Open(nil, nil, encrypted[len(header):], associated(header, bound))
		if err != nil {
			return nil, fmt.Errorf("it is damaged, or was put in the place of another (key %x of %s)", id, whose(zone))
		}
		return content, nil
	}
	return nil, fmt.Errorf("it is encrypted with the key %x of %s: %w", id, whose(zone), k.missing(zone))
}

// missing is the error of a key of a zone that k does not have.
func (k *Keys) missing(zone string) error {
	if k == nil {
		return fmt.Errorf("there is no encryption key. %s", Remedy)
	}
	has := k.IDs(zone)
	if len(has) > 0 {
		return fmt.Errorf("the keys here are %s. %s", strings.Join(has, ", "), Remedy)
	}
	for _, zone := range k.Zones() {
		has = append(has, fmt.Sprintf("%q", zone))
	}
	return fmt.Errorf("the keys here are those of the zones %s. %s", strings.Join(has, ", "), Remedy)
}

// Address returns the address of a content: a keyed digest, which reveals to nobody without the key whether a content
// is one of a few that may be guessed. Each zone and each use has addresses of its own.
func (k *Keys) Address(zone, use string, content []byte) (string, error) {
	addresses, err := k.Addresses(zone, use, content)
	if err != nil {
		return "", err
	}
	return addresses[0], nil
}

// Addresses returns the address of a content with each key of the zone: the first is that of [Keys.Address], others are
// those that had it as their first key.
func (k *Keys) Addresses(zone, use string, content []byte) (addresses []string, err error) {
	keys := k.of(zone)
	if len(keys) == 0 {
		return nil, fmt.Errorf("no address with the key of %s: %w", whose(zone), k.missing(zone))
	}
	for _, key := range keys {
		mac := hmac.New(sha256.New, key.secret.derive("address "+use))
		mac.Write(content)
		addresses = append(addresses, hex.EncodeToString(mac.Sum(nil)))
	}
	return addresses, nil
}
