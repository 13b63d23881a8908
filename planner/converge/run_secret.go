package converge

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"maps"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// macKeyPath has the key of the HMACs in the ledger. It never leaves the node, so that nobody can compare an HMAC with
// guesses anywhere else.
const macKeyPath = system.Home + "/hmac-key"

// secretMAC returns the HMAC of the content of a file that a secret gave, empty for all else.
func (x *session) secretMAC(j *operation) (string, error) {
	if j.Secrets != Resolved || j.Type != "file" || !j.Parameters.Has("content") {
		return "", nil
	}
	return x.contentMAC(j.id, []byte(j.Parameters.String("content")))
}

func (x *session) contentMAC(id resource.ID, content []byte) (string, error) {
	key, there, err := x.sys.ReadOwnFile(macKeyPath)
	if err != nil {
		return "", err
	}
	if !there || len(key) != sha256.Size {
		key = make([]byte, sha256.Size)
		_, _ = rand.Read(key) // never fails
		mode := fs.FileMode(0o600)
		if _, err := x.sys.MakeHome(); err != nil {
			return "", err
		}
		if err := x.sys.ReplaceFile(macKeyPath, key, system.Attributes{Mode: &mode}); err != nil {
			return "", err
		}
	}
	return mac(key, append([]byte(string(id)+"\x00"), content...)), nil
}

// mac returns HMAC-SHA-256 (RFC 2104), in hexadecimal, with a key of 32 bytes. Package crypto/hmac would bring every
// other hash into the helper.
func mac(key, text []byte) string {
	var inner, outer [sha256.BlockSize]byte
	copy(inner[:], key)
	copy(outer[:], key)
	for i := range inner {
		inner[i] ^= 0x36
		outer[i] ^= 0x5c
	}
	sum := sha256.Sum256(append(inner[:], text...))
	sum = sha256.Sum256(append(outer[:], sum[:]...))
	return hex.EncodeToString(sum[:])
}

// compareSecret prepares the check of an item whose secrets the controller does not have: a file that has what was
// written last is compared with itself, another one with the reference, which no file has. known is false where the
// node recorded nothing to compare with.
func (x *session) compareSecret(j *operation) (known bool, err error) {
	e := x.ledger.Entry(x.manifest.Site, j.id)
	if e == nil || e.HMAC == "" || e.Digest != j.Digest {
		return false, nil
	}
	given := maps.Clone(j.Parameters)
	given[resource.Sensitive] = true
	j.Parameters = given
	path := schema.FilePath(j.Resource)
	if info, err := x.sys.Lstat(path); err != nil || !info.IsRegular() {
		return true, nil //nolint:nilerr // the check itself finds that
	}
	is, err := x.sys.ReadFile(path)
	if err != nil {
		return false, err
	}
	sum, err := x.contentMAC(j.id, is)
	if err == nil && sum == e.HMAC {
		given["content"] = string(is)
	}
	return true, err
}
