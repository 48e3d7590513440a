-- All events in their one sequence; rows are only added, and the oldest deleted. Times are epoch milliseconds.
CREATE TABLE mortise_event (
  position INTEGER PRIMARY KEY, -- from 1, without gaps; the newest is never deleted, so that none is given twice
  id TEXT NOT NULL UNIQUE,
  type TEXT NOT NULL,
  source TEXT NOT NULL,
  subject TEXT NOT NULL,
  owner TEXT,
  at BIGINT NOT NULL,
  data TEXT NOT NULL, -- JSON
  traceparent TEXT
);
CREATE INDEX mortise_event_by_owner ON mortise_event (owner, position);

-- Where PostgreSQL has those that have no position yet.
CREATE TABLE mortise_event_new (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL,
  type TEXT NOT NULL,
  source TEXT NOT NULL,
  subject TEXT NOT NULL,
  owner TEXT,
  at BIGINT NOT NULL,
  data TEXT NOT NULL,
  traceparent TEXT
);
