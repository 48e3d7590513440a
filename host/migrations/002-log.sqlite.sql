-- Who did what, for good. Rows are only added: whatever else is tried fails. Times are epoch milliseconds.
CREATE TABLE mortise_audit (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, -- with gaps
  at BIGINT NOT NULL,
  actor TEXT NOT NULL,
  action TEXT NOT NULL,
  object TEXT NOT NULL,
  outcome TEXT NOT NULL,
  request_id TEXT,
  details TEXT, -- JSON
  origin TEXT -- of what was recorded outside of the database: it is taken in once
);
CREATE UNIQUE INDEX mortise_audit_by_origin ON mortise_audit (origin) WHERE origin IS NOT NULL;
-- The records of one object, newest first.
CREATE INDEX mortise_audit_by_object ON mortise_audit (object, seq);

CREATE TRIGGER mortise_audit_no_update BEFORE UPDATE ON mortise_audit
BEGIN
  SELECT RAISE(ABORT, 'the audit trail is append-only');
END;
CREATE TRIGGER mortise_audit_no_delete BEFORE DELETE ON mortise_audit
BEGIN
  SELECT RAISE(ABORT, 'the audit trail is append-only');
END;
-- REPLACE deletes without the trigger above.
CREATE TRIGGER mortise_audit_no_replace BEFORE INSERT ON mortise_audit
WHEN EXISTS (SELECT 1 FROM mortise_audit WHERE seq = NEW.seq)
  OR EXISTS (SELECT 1 FROM mortise_audit WHERE origin = NEW.origin)
BEGIN
  SELECT RAISE(ABORT, 'the audit trail is append-only');
END;

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
