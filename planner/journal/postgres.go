package journal

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// postgresSchemas are the migrations of PostgreSQL (see [SchemaVersion]).
var postgresSchemas = [SchemaVersion]string{withProcesses: `
CREATE TABLE runs (
	id         text COLLATE "C" PRIMARY KEY,
	site       text NOT NULL,
	operation  text NOT NULL,
	owner      text NOT NULL,
	digest     text NOT NULL,
	steps      text NOT NULL, -- JSON list
	started_at bigint NOT NULL, -- milliseconds since 1970, as everywhere below
	ended_at   bigint,
	status     text NOT NULL,
	report     text NOT NULL
);
CREATE INDEX runs_by_start ON runs (started_at DESC, id DESC);
CREATE TABLE events (
	run         text COLLATE "C" NOT NULL REFERENCES runs (id),
	seq         bigint GENERATED ALWAYS AS IDENTITY,
	at          bigint NOT NULL,
	kind        text NOT NULL,
	group_name  text NOT NULL,
	phase       bigint NOT NULL,
	node        text NOT NULL,
	resource    text NOT NULL,
	service     text NOT NULL,
	action      text NOT NULL,
	status      text NOT NULL,
	message     text NOT NULL,
	output      text NOT NULL,
	millis      bigint NOT NULL,
	PRIMARY KEY (run, seq)
);
CREATE TABLE leases (
	site         text PRIMARY KEY,
	fence        bigint NOT NULL, -- grows with every lease and is never used twice
	run          text NOT NULL,   -- empty: free
	owner        text NOT NULL,
	heartbeat_at bigint NOT NULL,
	process      text NOT NULL
);
CREATE TABLE services (
	service          text COLLATE "C" NOT NULL,
	incarnation      bigint NOT NULL,
	version          bigint NOT NULL,
	desired_version  bigint NOT NULL,
	id               text NOT NULL,
	entity           text NOT NULL,
	entity_version   bigint NOT NULL,
	entity_digest    text NOT NULL,
	lifecycle        text NOT NULL,
	identity         text NOT NULL,
	state            text NOT NULL,
	label            text NOT NULL,
	deleted          boolean NOT NULL,
	transfer_context text NOT NULL,
	candidate        text, -- JSON object, as the next two; NULL: there is no such set
	active           text,
	rollback         text,
	redacted         text NOT NULL, -- JSON list
	config           text NOT NULL, -- JSON object
	run              text NOT NULL, -- perhaps one of an earlier journal
	owner            text NOT NULL,
	at               bigint NOT NULL,
	PRIMARY KEY (service, incarnation, version)
);
CREATE TABLE service_events (
	seq             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	service         text COLLATE "C" NOT NULL,
	incarnation     bigint NOT NULL,
	version         bigint NOT NULL,
	desired_version bigint NOT NULL,
	at              bigint NOT NULL,
	source          text NOT NULL,
	destination     text NOT NULL,
	type            text NOT NULL,
	message         text NOT NULL,
	ignored         boolean NOT NULL,
	correlation     text NOT NULL,
	severity        bigint NOT NULL,
	is_error        boolean NOT NULL,
	run             text NOT NULL
);
CREATE INDEX service_events_by_version ON service_events (service, incarnation, version);
CREATE TABLE journal (version bigint NOT NULL);
INSERT INTO journal VALUES (0);
`, withProcesses + 1: `
ALTER TABLE leases ADD COLUMN line text NOT NULL DEFAULT ''; -- see Fence; empty: no lease since this migration
`, withWorkflows - 1: `
ALTER TABLE runs ADD COLUMN workflow text NOT NULL DEFAULT ''; -- see Run, as for those below
ALTER TABLE runs ADD COLUMN desired text NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN request text NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN outcome text NOT NULL DEFAULT '';
`, withBlobs - 1: `
CREATE TABLE blobs (
	run     text COLLATE "C" NOT NULL REFERENCES runs (id),
	address text COLLATE "C" NOT NULL, -- a keyed digest
	content bytea NOT NULL, -- encrypted
	PRIMARY KEY (run, address)
);
ALTER TABLE blobs ALTER COLUMN content SET STORAGE EXTERNAL; -- ciphertext does not shrink
`, withChecks - 1: `
CREATE TABLE checks (
	id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	at          bigint NOT NULL,
	owner       text NOT NULL,
	nodes       bigint NOT NULL,
	drift       text NOT NULL, -- JSON list
	more        bigint NOT NULL,
	unreachable text NOT NULL -- JSON list
);
`, withReferences - 1: `
ALTER TABLE services ADD COLUMN refers text NOT NULL DEFAULT 'null'; -- JSON list; null: recorded before
`, withLooks - 1: `
CREATE TABLE looks (
	id      text COLLATE "C" PRIMARY KEY,
	at      bigint NOT NULL,
	request bytea NOT NULL, -- encrypted, as the next
	answer  bytea -- NULL: none yet
);
ALTER TABLE looks ALTER COLUMN request SET STORAGE EXTERNAL, ALTER COLUMN answer SET STORAGE EXTERNAL;
`}

// schemaPrefix is the beginning of the names of schemas with journals; the site follows.
const schemaPrefix = "slipway_"

const (
	identifierLimit  = 63 // bytes of a name in PostgreSQL; longer ones are cut silently
	connectTime      = 10 * time.Second
	connectionsLimit = 4 // of a store: one for the run, the others for readers
	connectionIdle   = time.Minute
)

// postgresDatabase is a schema in a database that several machines use. The one clock is that of the server.
type postgresDatabase struct{ schema string }

// CheckURL returns an error, without the password, when a text is not the URL of a PostgreSQL database, or a parameter
// of it is not valid. It connects to nothing. The files that the URL names may be there later.
func CheckURL(text string) error {
	_, err := parseURL(text)
	var file *fs.PathError
	if errors.As(err, &file) {
		return nil
	}
	return err
}

// checkForm returns an error, without the password, when a text is not the URL of a PostgreSQL database.
func checkForm(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil: // the error may have a part of the password
		return errors.New("it is not a URL. Write postgres://USER@HOST:PORT/DATABASE, and percent-encode characters in names and passwords " +
			"that are neither letters, digits nor one of - . _ ~")
	case u.Scheme != "postgres" && u.Scheme != "postgresql":
		return errors.New("it is not the URL of a PostgreSQL database. Write postgres://USER@HOST:PORT/DATABASE")
	}
	return nil
}

// shown returns what errors say of a URL: everything but the password and the parameters, which may have passwords too.
func shown(text string) string {
	u, err := url.Parse(text)
	if err != nil || checkForm(text) != nil {
		return "of PostgreSQL"
	}
	u.RawQuery, u.Fragment = "", ""
	return u.Redacted()
}

// parameterError says what is wrong with a parameter. The text of err has the URL.
type parameterError struct {
	reason string
	err    error
}

func (e *parameterError) Error() string {
	return "its URL, or one of the variables PG..., is not valid: " + e.reason
}

func (e *parameterError) Unwrap() error { return e.err }

// parseURL returns the configuration of connections by the rules of libpq: parameters of the URL, environment, password
// and service files. Its errors contain no secret.
func parseURL(text string) (*pgx.ConnConfig, error) {
	if err := checkForm(text); err != nil {
		return nil, err
	}
	config, err := pgx.ParseConfig(text)
	if err != nil {
		reason := err.Error() // cannot parse `URL`: reason
		return nil, &parameterError{reason[strings.LastIndexByte(reason, '`')+1+len(": "):], err}
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectTime
		config.DialFunc = (&net.Dialer{Timeout: connectTime}).DialContext
	}
	for name, value := range map[string]string{
		"application_name": "slipway",
		// A controller that is cut off in a transaction must not keep the others from the journal.
		"idle_in_transaction_session_timeout": strconv.FormatInt((LeaseTime / 3).Milliseconds(), 10),
	} {
		if config.RuntimeParams[name] == "" {
			config.RuntimeParams[name] = value
		}
	}
	return config, nil
}

// openPostgres opens the journal of a site. ready checks its schema, or creates it.
func openPostgres(ctx context.Context, l Location, site string, ready func(*Store, context.Context) error) (*Store,
	error) {
	database := postgresDatabase{schemaPrefix + site}
	s := &Store{database: database, name: fmt.Sprintf("%s, schema %q", shown(l.URL), database.schema), clock: serverClock,
		site: site, keys: l.Keys, leaseTime: LeaseTime, attemptTime: LeaseTime / 3}
	if len(database.schema) > identifierLimit {
		return nil, fmt.Errorf("journal %s: the name of the site %q has %d bytes; with PostgreSQL it may have %d",
			shown(l.URL), site, len(site), identifierLimit-len(schemaPrefix))
	}
	config, err := parseURL(l.URL)
	if err == nil {
		config.RuntimeParams["search_path"] = pgx.Identifier{database.schema}.Sanitize()
		s.db = stdlib.OpenDB(*config)
		s.db.SetMaxOpenConns(connectionsLimit)
		s.db.SetMaxIdleConns(connectionsLimit)
		s.db.SetConnMaxIdleTime(connectionIdle)
		if err = ready(s, ctx); err == nil {
			return s, nil
		}
		_ = s.Close() // nothing was written
	}
	if l.Setting == "" || errors.Is(err, ErrNoJournal) {
		return nil, s.failed(err)
	}
	return nil, fmt.Errorf("%w\n\n%s says where the journal is", s.failed(err), l.Setting)
}

// postgresSites returns the sites that have a journal in a database, sorted, without those whose schema the role may
// not use.
func postgresSites(ctx context.Context, l Location) (sites []string, err error) {
	failed := func(err error) error { // without advice: no run is at work
		if err == nil {
			return nil
		}
		return fmt.Errorf("journal %s: %w", shown(l.URL), err)
	}
	config, err := parseURL(l.URL)
	if err != nil {
		return nil, failed(err)
	}
	db := stdlib.OpenDB(*config)
	defer db.Close() //nolint:errcheck // read only
	rows, err := db.QueryContext(ctx, `SELECT substr(n.nspname, length($1) + 1) FROM pg_namespace n
		JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = 'journal'
		WHERE starts_with(n.nspname, $1) AND has_schema_privilege(n.oid, 'USAGE')
		ORDER BY n.nspname COLLATE "C"`, schemaPrefix)
	if err != nil {
		return nil, failed(err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err returns the error
	for rows.Next() {
		var site string
		if err := rows.Scan(&site); err != nil {
			return nil, failed(err)
		}
		sites = append(sites, site)
	}
	return sites, failed(rows.Err())
}

// serverClock returns the time of the server.
func serverClock(ctx context.Context, q querier) (time.Time, error) {
	var millis int64
	err := q.QueryRowContext(ctx, "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint").Scan(&millis)
	return time.UnixMilli(millis), err
}

// lock takes an advisory lock, which is there before the schema is.
func (d postgresDatabase) lock(ctx context.Context, tx *sql.Tx) error {
	_, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", d.schema)
	return err
}

// Away reports whether an error of a journal says that its database is away: the same may succeed later.
func Away(err error) bool { return err != nil && postgresDatabase{}.lost(err) }

// Denied reports whether an error of a journal says that the role of its database may not do this.
func Denied(err error) bool {
	var server *pgconn.PgError
	return errors.As(err, &server) && server.Code == "42501"
}

// lost also reports true for transactions that the server ended without doing them.
func (postgresDatabase) lost(err error) bool {
	var server *pgconn.PgError
	if errors.As(err, &server) {
		switch server.Code[:2] {
		case "08", "40", "53", "57": // connection, rollback, too many connections, the server stops or starts
			return true
		}
		return server.Code == "25P03" // idle in a transaction
	}
	var network net.Error
	var connecting *pgconn.ConnectError
	for _, target := range []error{driver.ErrBadConn, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, sql.ErrTxDone,
		sql.ErrConnDone, pgconn.ErrConnClosed, context.DeadlineExceeded} {
		if errors.Is(err, target) {
			return true
		}
	}
	return errors.As(err, &network) || errors.As(err, &connecting)
}

func (postgresDatabase) advice() string {
	return "What is applied is in the ledgers of the nodes and in Terraform's state"
}

func (d postgresDatabase) version(ctx context.Context, q querier) (version int, err error) {
	var there bool
	err = q.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = $1 AND c.relname = 'journal')`, d.schema).Scan(&there)
	if err == nil && there {
		err = q.QueryRowContext(ctx, "SELECT version FROM "+pgx.Identifier{d.schema, "journal"}.Sanitize()).Scan(&version)
	}
	return version, err
}

// migrate creates the schema where that is needed: an administrator may have done so, for a role that may not.
func (d postgresDatabase) migrate(ctx context.Context, tx *sql.Tx, version int) error {
	var there bool
	err := tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = $1)", d.schema).Scan(&there)
	if err != nil {
		return err
	}
	statements := strings.Join(postgresSchemas[version:], "") + fmt.Sprintf("UPDATE journal SET version = %d;", SchemaVersion)
	if !there {
		statements = "CREATE SCHEMA " + pgx.Identifier{d.schema}.Sanitize() + ";" + statements
	}
	_, err = tx.ExecContext(ctx, statements)
	return err
}
