package journal

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/encryption"
	"github.com/slipway/terraform-provider-slipway/planner/encryption/encryptiontest"
)

// withKeys returns the location with the keys of a text.
func withKeys(t *testing.T, at Location, text string) Location {
	t.Helper()
	keys, err := encryption.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	at.Keys = keys
	return at
}

// put records contents.
func put(t *testing.T, w *Writer, blobs ...Blob) []string {
	t.Helper()
	addresses, err := w.Put(t.Context(), UseRequest, blobs...)
	if err != nil || len(addresses) != len(blobs) {
		t.Fatalf("%d addresses of %d, %v", len(addresses), len(blobs), err)
	}
	return addresses
}

// TestBlobs checks that contents come back, that the database has them once in a run, and who can read them.
func TestBlobs(t *testing.T) {
	conform(t, func(t *testing.T, at Location) {
		key := encryption.New()
		at = withKeys(t, at, key)
		s := openSite(t, at)
		w := start(t, s, "run-1")
		large := bytes.Repeat([]byte("0123456789abcdef"), blobsLimit/16/2+1)
		blobs := []Blob{{encryption.Control, []byte("for control")}, {"", []byte("for rack1")},
			{"rack1", []byte("for rack1")}, {"rack1", nil}, {"rack1", []byte("for rack1")}, {"rack2", []byte("for rack1")}, {"rack1", large}, {"rack2", large}}
		addresses := put(t, w, blobs...)
		if again := put(t, w, blobs...); !slices.Equal(addresses, again) {
			t.Errorf("%q, then %q", addresses, again)
		}
		if addresses[2] != addresses[4] || addresses[2] == addresses[5] || addresses[2] == addresses[1] {
			t.Errorf("addresses %q: equal contents of a zone have one", addresses)
		}
		var n int
		if err := s.db.QueryRowContext(t.Context(), "SELECT count(*) FROM blobs").Scan(&n); err != nil || n != 7 {
			t.Errorf("%d contents, %v, want 7", n, err)
		}
		text, err := at.Keys.ForZone("rack1")
		if err != nil {
			t.Fatal(err)
		}
		worker, err := withKeys(t, at, text).OpenExisting(t.Context(), "lon1")
		if err != nil {
			t.Fatal(err)
		}
		defer worker.Close() //nolint:errcheck // read only
		for i, b := range blobs {
			if got, err := s.Blob(t.Context(), "run-1", UseRequest, b.Zone, addresses[i]); err != nil || !bytes.Equal(got, b.Content) {
				t.Errorf("content %d: %d bytes, %v", i, len(got), err)
			}
			if got, err := s.Blob(t.Context(), "run-1", UseRequest, "rack3", addresses[i]); err == nil ||
				!strings.Contains(err.Error(), `and must be with that of the zone "rack3"`) {
				t.Errorf("content %d is taken for another zone: %q, %v", i, got, err)
			}
			got, err := worker.Blob(t.Context(), "run-1", UseRequest, b.Zone, addresses[i])
			if b.Zone != "rack1" {
				if err == nil || !strings.Contains(err.Error(), `the keys here are those of the zones "rack1".`) {
					t.Errorf("content %d: %q, %v", i, got, err)
				}
			} else if err != nil || !bytes.Equal(got, b.Content) {
				t.Errorf("content %d: %d bytes, %v", i, len(got), err)
			}
		}
		if _, err := s.Blob(t.Context(), "run-2", UseRequest, "rack1", addresses[0]); !errors.Is(err, ErrNoBlob) {
			t.Error(err)
		}
		finish(t, w)
	})
}

// TestBlobsWithoutTheirKey checks that without a key nothing is recorded, and that a wrong one is named.
func TestBlobsWithoutTheirKey(t *testing.T) {
	conform(t, func(t *testing.T, at Location) {
		w := start(t, openSite(t, at), "run-1")
		if _, err := w.Put(t.Context(), UseRequest, Blob{Content: []byte("x")}); err == nil ||
			!strings.Contains(err.Error(), encryption.Remedy) {
			t.Error(err)
		}
		finish(t, w)
		w = start(t, openSite(t, withKeys(t, at, encryption.New())), "run-2")
		address := put(t, w, Blob{Content: []byte("x")})[0]
		finish(t, w)
		for _, keys := range []string{"", encryption.New()} {
			_, err := openSite(t, withKeys(t, at, keys)).Blob(t.Context(), "run-2", UseRequest, "", address)
			if err == nil || !strings.Contains(err.Error(), "it is encrypted with the key") ||
				!strings.Contains(err.Error(), encryption.Remedy) {
				t.Error(err)
			}
		}
	})
}

// TestBlobsStayInTheirPlace checks that who can write to the database cannot give one content for another.
func TestBlobsStayInTheirPlace(t *testing.T) {
	conform(t, func(t *testing.T, at Location) {
		at = withKeys(t, at, encryption.New())
		s := openSite(t, at)
		w := start(t, s, "run-1")
		addresses := put(t, w, Blob{"rack1", []byte("reboot = false")}, Blob{"rack1", []byte("reboot = true")})
		finish(t, w)
		if _, err := s.db.ExecContext(t.Context(), `UPDATE blobs SET content = (SELECT content FROM blobs WHERE address = $1)
			WHERE address = $2`, addresses[1], addresses[0]); err != nil {
			t.Fatal(err)
		}
		if content, err := s.Blob(t.Context(), "run-1", UseRequest, "rack1", addresses[0]); err == nil ||
			!strings.Contains(err.Error(), "in the place of another") {
			t.Errorf("%q, %v", content, err)
		}
		s.site = "par1" // as if the row were in the journal of that site
		if content, err := s.Blob(t.Context(), "run-1", UseRequest, "rack1", addresses[1]); err == nil {
			t.Errorf("%q", content)
		}
	})
}

// TestBlobsAreFenced checks that a run that lost its site records no content.
func TestBlobsAreFenced(t *testing.T) {
	conform(t, func(t *testing.T, at Location) {
		s := openSite(t, withKeys(t, at, encryption.New()))
		w := start(t, s, "run-1")
		if _, err := s.Unlock(t.Context(), "lon1", true, 0); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Put(t.Context(), UseRequest, Blob{Content: []byte("x")}); !errors.Is(err, ErrFenced) {
			t.Error(err)
		}
		if err := w.Finish(t.Context(), "failed", ""); !errors.Is(err, ErrFenced) {
			t.Error(err)
		}
	})
}

// TestBlobsArePruned checks that contents are deleted with their run, any number of them, and no others.
func TestBlobsArePruned(t *testing.T) {
	conform(t, func(t *testing.T, at Location) {
		s := openSite(t, withKeys(t, at, encryption.New()))
		c := &clock{t: time.UnixMilli(1e12)}
		c.use(s)
		w := start(t, s, "old")
		blobs := make([]Blob, blobsPrune+1)
		for i := range blobs {
			blobs[i].Content = fmt.Append(nil, i)
		}
		put(t, w, blobs...)
		finish(t, w)
		c.add(time.Hour)
		w = start(t, s, "new")
		address := put(t, w, blobs[0])[0]
		c.add(time.Hour)
		if n, err := s.Prune(t.Context(), 0); err != nil || n != 1 {
			t.Errorf("%d runs, %v", n, err)
		}
		if _, err := s.Blob(t.Context(), "old", UseRequest, "", address); !errors.Is(err, ErrNoBlob) {
			t.Error(err)
		}
		if _, err := s.Blob(t.Context(), "new", UseRequest, "", address); err != nil {
			t.Error(err)
		}
		finish(t, w)
	})
}

// TestSecretsInNoDatabase checks that no content is found in what is on disk of a journal, or in a dump of it: not in
// clear, and not in base64 or hexadecimal digits.
func TestSecretsInNoDatabase(t *testing.T) {
	const secret = "a\"<correct-horse-battery-1>&b"
	contents := func(t *testing.T, at Location) (dump []byte) {
		t.Helper()
		if at.URL != "" {
			c, err := cluster()
			if err != nil {
				t.Fatal(err)
			}
			if dump, err = c.Dump(at.URL); err != nil {
				t.Fatal(err)
			}
			return dump
		}
		files, err := filepath.Glob(filepath.Join(at.Path, "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			dump = append(dump, text...)
		}
		return dump
	}
	conform(t, func(t *testing.T, at Location) {
		key := encryption.New()
		at = withKeys(t, at, key)
		w := start(t, openSite(t, at), "run-1")
		if err := w.Record(t.Context(), Event{Kind: TaskFinished, Message: "canary"}); err != nil {
			t.Fatal(err)
		}
		addresses := put(t, w, Blob{"rack1", []byte(secret)})
		finish(t, w)
		dump := contents(t, at)
		for _, present := range []string{"canary", addresses[0]} {
			if !bytes.Contains(dump, []byte(present)) {
				t.Errorf("the dump of %d bytes does not have %q", len(dump), present)
			}
		}
		for _, absent := range []string{secret, key} {
			if form := encryptiontest.Form(dump, absent); form != "" {
				t.Errorf("the dump has a secret (%s)", form)
			}
		}
	})
}

// TestContentsAreBoundToTheirRun checks that what one run left cannot be put in the place of what another run of the
// site has, by who writes to the database: neither under its address or name, nor as what another content is for.
func TestContentsAreBoundToTheirRun(t *testing.T) {
	conform(t, func(t *testing.T, at Location) {
		s := openSite(t, withKeys(t, at, encryption.New()))
		run := func(id string) (address string) {
			w := start(t, s, id)
			defer finish(t, w)
			if _, err := s.Name(t.Context(), id, Named{"begun 1", Blob{"rack1", []byte("in " + id)}}); err != nil {
				t.Fatal(err)
			}
			if err := s.PutFile(t.Context(), id, "rack1", "5f", strings.NewReader("in "+id)); err != nil {
				t.Fatal(err)
			}
			return put(t, w, Blob{encryption.Control, []byte("of " + id)})[0]
		}
		address := run("run-1")
		run("run-2")
		read := map[string]func(run string) (any, error){
			"a content": func(run string) (any, error) {
				return s.Blob(t.Context(), run, UseRequest, encryption.Control, address)
			},
			"a name": func(run string) (any, error) { return s.Named(t.Context(), run, "rack1", "begun 1") },
			"a file": func(run string) (any, error) { return s.FilePart(t.Context(), run, "rack1", "5f", 0) },
		}
		for what, of := range read {
			if _, err := of("run-1"); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
		if _, err := s.Blob(t.Context(), "run-1", UseOutcome, encryption.Control, address); err == nil {
			t.Error("what a run is asked for is taken for its outcome")
		}
		for _, statement := range []string{"DELETE FROM blobs WHERE run = 'run-2'", "UPDATE blobs SET run = 'run-2'"} {
			if _, err := s.db.ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
		for what, of := range read {
			if got, err := of("run-2"); err == nil || !strings.Contains(err.Error(), "was put in the place of another") {
				t.Errorf("%s of another run is read as %q, %v", what, got, err)
			}
		}
	})
}
