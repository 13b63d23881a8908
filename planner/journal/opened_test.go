package journal

import (
	"path/filepath"
	"sync"
	"testing"
)

// Who looks for the journal of a first run does not keep that run from making it.
func TestReadersOfANewJournalDoNotKeepARunFromIt(t *testing.T) {
	for range 50 {
		file := filepath.Join(t.TempDir(), "journals", "lon1.db")
		made := make(chan struct{})
		var readers sync.WaitGroup
		for range 4 {
			readers.Go(func() {
				for {
					select {
					case <-made:
						return
					default:
					}
					if s, err := OpenExisting(t.Context(), file); err == nil {
						_ = s.Close()
					}
				}
			})
		}
		s, err := Open(t.Context(), file)
		close(made)
		readers.Wait()
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
