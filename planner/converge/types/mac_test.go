package types

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"testing"
)

func TestMac(t *testing.T) {
	key, text := bytes.Repeat([]byte{7}, sha256.Size), []byte("a secret")
	want := hmac.New(sha256.New, key)
	want.Write(text)
	if got := mac(key, text); got != hex.EncodeToString(want.Sum(nil)) {
		t.Errorf("mac is %s", got)
	}
}
