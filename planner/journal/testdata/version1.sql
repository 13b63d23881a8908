-- A journal of version 1, which held no services, with one run that ended.
CREATE TABLE runs (
	id         TEXT PRIMARY KEY,
	site       TEXT NOT NULL,
	operation  TEXT NOT NULL,
	owner      TEXT NOT NULL,
	digest     TEXT NOT NULL,
	steps      TEXT NOT NULL, -- JSON list
	started_at INTEGER NOT NULL, -- milliseconds since 1970, as everywhere below
	ended_at   INTEGER,
	status     TEXT NOT NULL,
	report     TEXT NOT NULL
);
CREATE INDEX runs_by_site ON runs (site, started_at);
CREATE TABLE events (
	seq         INTEGER PRIMARY KEY AUTOINCREMENT,
	run         TEXT NOT NULL REFERENCES runs (id),
	at          INTEGER NOT NULL,
	kind        TEXT NOT NULL,
	group_name  TEXT NOT NULL,
	phase       INTEGER NOT NULL,
	node        TEXT NOT NULL,
	resource    TEXT NOT NULL,
	action      TEXT NOT NULL,
	status      TEXT NOT NULL,
	message     TEXT NOT NULL,
	output      TEXT NOT NULL,
	millis      INTEGER NOT NULL
);
CREATE INDEX events_by_run ON events (run, seq);
CREATE TABLE leases (
	site         TEXT PRIMARY KEY,
	fence        INTEGER NOT NULL, -- grows with every lease and is never used twice
	run          TEXT NOT NULL,    -- empty: free
	owner        TEXT NOT NULL,
	heartbeat_at INTEGER NOT NULL,
	expires_at   INTEGER NOT NULL
);
INSERT INTO runs VALUES ('run-1', 'lon1', 'create', 'controller, process 7', 'd', '["1. a"]', 1000, 2000, 'succeeded', 'report');
INSERT INTO events VALUES (1, 'run-1', 1500, 'task_finished', 'g', 2, 'n1', 'file[/a]', 'create', 'changed', '', '', 7);
INSERT INTO leases VALUES ('lon1', 41, '', '', 2000, 32000);
PRAGMA user_version = 1;
