package journal

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/encryption"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// file returns a file of a run as its parts are.
func file(t *testing.T, s *Store, run, zone, sum string) (content []byte, parts int, err error) {
	t.Helper()
	for {
		part, err := s.FilePart(t.Context(), run, zone, sum, parts)
		if err != nil {
			return nil, parts, err
		}
		content = append(content, part...)
		if parts++; len(part) < PartSize {
			return content, parts, nil
		}
	}
}

// TestFiles checks that files come back in parts, encrypted for their zone, that one that was cut off is recorded again,
// and that a worker with an older key finds them.
func TestFiles(t *testing.T) {
	conform(t, func(t *testing.T, at Location) {
		older, newer := encryption.New(), encryption.New()
		both := withKeys(t, at, newer+" "+older)
		s := openSite(t, both)
		w := start(t, s, "run-1")
		for size, parts := range map[int]int{0: 1, 3: 1, PartSize: 2, 2*PartSize + 5: 3} {
			content := bytes.Repeat([]byte("x"), size)
			sum := resource.SHA256(content)
			broken := io.MultiReader(bytes.NewReader(content), failing{})
			if err := s.PutFile(t.Context(), "run-1", "rack1", sum, broken); !errors.Is(err, errBroken) {
				t.Errorf("%d bytes: %v", size, err)
			}
			for range 2 {
				if err := s.PutFile(t.Context(), "run-1", "rack1", sum, bytes.NewReader(content)); err != nil {
					t.Fatal(err)
				}
			}
			got, n, err := file(t, s, "run-1", "rack1", sum)
			if err != nil || n != parts || !bytes.Equal(got, content) {
				t.Errorf("%d bytes: %d bytes in %d parts, %v", size, len(got), n, err)
			}
			for _, run := range [][2]string{{"run-1", "rack2"}, {"run-2", "rack1"}} {
				if _, err := s.FilePart(t.Context(), run[0], run[1], sum, 0); !errors.Is(err, ErrNoBlob) {
					t.Errorf("%v: %v", run, err)
				}
			}
		}
		// The controller has not changed its key yet, and the worker has, and reads with the key of its zone alone.
		const content = "before the new key"
		sum := resource.SHA256(content)
		controller := openSite(t, withKeys(t, at, older))
		if err := controller.PutFile(t.Context(), "run-1", "rack1", sum, strings.NewReader(content)); err != nil {
			t.Fatal(err)
		}
		text, err := both.Keys.ForZone("rack1")
		if err != nil {
			t.Fatal(err)
		}
		worker := openSite(t, withKeys(t, at, text))
		if got, _, err := file(t, worker, "run-1", "rack1", sum); err != nil || string(got) != content {
			t.Errorf("%q, %v", got, err)
		}
		var found int
		err = s.db.QueryRowContext(t.Context(), "SELECT count(*) FROM blobs WHERE address LIKE $1", "%"+sum+"%").Scan(&found)
		if err != nil || found != 0 {
			t.Errorf("%d names have the SHA-256 in clear (%v)", found, err)
		}
		finish(t, w)
		if n, err := s.Prune(t.Context(), -time.Minute); err != nil || n != 1 {
			t.Errorf("%d runs, %v", n, err)
		}
		if _, err := worker.FilePart(t.Context(), "run-1", "rack1", sum, 0); !errors.Is(err, ErrNoBlob) {
			t.Errorf("after its run was deleted: %v", err)
		}
	})
}

var errBroken = errors.New("broken")

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errBroken }

// mostMemory bounds what a file of 100 MiB needs in addition in who records or reads it.
const mostMemory = 16 << 20

// TestMemoryOfALargeFile checks that nobody has a file as a whole in memory.
func TestMemoryOfALargeFile(t *testing.T) {
	conform(t, func(t *testing.T, at Location) {
		s := openSite(t, withKeys(t, at, encryption.New()))
		w := start(t, s, "run-1")
		from := &sampled{size: 100 << 20}
		before := from.sample()
		if err := s.PutFile(t.Context(), "run-1", "rack1", "sum", from); err != nil {
			t.Fatal(err)
		}
		if used := from.most - before; used > mostMemory {
			t.Errorf("who records it used %d MiB", used>>20)
		}
		from.most = 0
		parts := 0
		for last := false; !last; parts++ {
			part, err := s.FilePart(t.Context(), "run-1", "rack1", "sum", parts)
			if err != nil {
				t.Fatal(err)
			}
			last = len(part) < PartSize
			from.sample()
		}
		if used := from.most - before; used > mostMemory || parts != 101 {
			t.Errorf("who reads it used %d MiB, %d parts", used>>20, parts)
		}
		finish(t, w)
	})
}

// sampled is a file of zeros, and the most memory that was in use while it was read.
type sampled struct {
	size int
	most int64
}

func (f *sampled) Read(p []byte) (int, error) {
	n := min(len(p), f.size)
	if n == 0 {
		return 0, io.EOF
	}
	clear(p[:n])
	if f.size -= n; f.size%(8<<20) == 0 {
		f.sample()
	}
	return n, nil
}

// sample returns the memory that is in use.
func (f *sampled) sample() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	f.most = max(f.most, int64(m.HeapAlloc))
	return int64(m.HeapAlloc)
}
