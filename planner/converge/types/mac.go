package types

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
)

// macKeyPath has the key of the HMACs in the ledger. It never leaves the node, so that nobody can compare an HMAC with
// guesses anywhere else.
const macKeyPath = system.Home + "/hmac-key"

// MAC returns the HMAC of a text, of which what it is about is part, with the key of the node, which is made where it
// is not there.
func (s *Session) MAC(of, text string) (string, error) {
	if s.macKey != nil {
		return mac(s.macKey, []byte(of+"\x00"+text)), nil
	}
	key, there, err := s.ReadOwnFile(macKeyPath)
	if err != nil {
		return "", err
	}
	if !there || len(key) != sha256.Size {
		key = make([]byte, sha256.Size)
		_, _ = rand.Read(key) // never fails
		mode := fs.FileMode(0o600)
		if _, err := s.MakeHome(); err != nil {
			return "", err
		}
		if err := s.ReplaceFile(macKeyPath, key, system.Attributes{Mode: &mode}); err != nil {
			return "", err
		}
	}
	s.macKey = key
	return mac(key, []byte(of+"\x00"+text)), nil
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
