package remote

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"testing"
)

// TestEmbedded compares the digests and sizes that the bootstrap demands with the programs that are sent.
func TestEmbedded(t *testing.T) {
	h, err := Embedded()
	if err != nil {
		t.Fatal(err)
	}
	if len(h.carried) == 0 {
		t.Skip("NOT TESTED: this build carries no helpers; `make helpers` builds them")
	}
	for platform, carried := range h.carried {
		z, err := gzip.NewReader(bytes.NewReader(carried.Compressed))
		if err != nil {
			t.Fatal(platform, err)
		}
		sum := sha256.New()
		size, err := io.Copy(sum, z)
		if err != nil {
			t.Fatal(platform, err)
		}
		if got := hex.EncodeToString(sum.Sum(nil)); got != carried.Sum || int(size) != carried.size() || machines[platform] == "" {
			t.Errorf("%s: %s with %d bytes, want %s with %d", platform, got, size, carried.Sum, carried.size())
		}
	}
}
