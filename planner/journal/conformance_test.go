package journal

import (
	"context"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/journal/postgrestest"
)

// cluster is the PostgreSQL that the tests of this package share; each test has a database of its own.
var cluster = sync.OnceValues(func() (*postgrestest.Cluster, error) {
	dir, err := os.MkdirTemp("", "pg")
	if err != nil {
		return nil, err
	}
	clusterDirectory = dir
	return postgrestest.New(dir)
})

var clusterDirectory string // empty while there is no cluster

// conform runs a test on both databases: what it requires is a rule for both.
func conform(t *testing.T, test func(t *testing.T, at Location)) {
	t.Run("SQLite", func(t *testing.T) { test(t, Location{Path: t.TempDir()}) })
	t.Run("PostgreSQL", func(t *testing.T) { test(t, postgres(t)) })
}

// postgres returns an empty database.
func postgres(t testing.TB) Location {
	t.Helper()
	c, err := cluster()
	if err != nil {
		postgrestest.Skip(t, err)
	}
	return Location{URL: c.URL(t), Setting: "journal of the test"}
}

// openSite opens the journal of the site lon1.
func openSite(t testing.TB, at Location) *Store {
	t.Helper()
	s, err := at.Open(t.Context(), "lon1")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// use gives a store the clock of a test.
func (c *clock) use(stores ...*Store) {
	for _, s := range stores {
		s.clock = func(context.Context, querier) (time.Time, error) { return c.now(), nil }
	}
}
