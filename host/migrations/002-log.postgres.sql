-- Who did what, for good. Rows are only added: whatever else is tried fails. Times are epoch milliseconds.
CREATE TABLE mortise_audit (
  seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- with gaps
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

CREATE FUNCTION mortise_audit_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the audit trail is append-only';
END
$$;
CREATE TRIGGER mortise_audit_no_change BEFORE UPDATE OR DELETE ON mortise_audit
FOR EACH ROW EXECUTE FUNCTION mortise_audit_refuse();
CREATE TRIGGER mortise_audit_no_truncate BEFORE TRUNCATE ON mortise_audit
FOR EACH STATEMENT EXECUTE FUNCTION mortise_audit_refuse();

-- All events in their one sequence; rows are only added, and the oldest deleted. Times are epoch milliseconds.
CREATE TABLE mortise_event (
  position BIGINT PRIMARY KEY, -- from 1, without gaps; the newest is never deleted, so that none is given twice
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

-- Those that have no position yet: transactions do not commit in the order in which they count `seq` up, and who has
-- read one position must never find a lower one later. Of one subject the order of `seq` is that of the commits,
-- since its changes write the same row.
CREATE TABLE mortise_event_new (
  seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id TEXT NOT NULL,
  type TEXT NOT NULL,
  source TEXT NOT NULL,
  subject TEXT NOT NULL,
  owner TEXT,
  at BIGINT NOT NULL,
  data TEXT NOT NULL,
  traceparent TEXT
);
