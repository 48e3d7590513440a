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

CREATE FUNCTION mortise_audit_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the audit trail is append-only';
END
$$;
CREATE TRIGGER mortise_audit_no_change BEFORE UPDATE OR DELETE ON mortise_audit
FOR EACH ROW EXECUTE FUNCTION mortise_audit_refuse();
CREATE TRIGGER mortise_audit_no_truncate BEFORE TRUNCATE ON mortise_audit
FOR EACH STATEMENT EXECUTE FUNCTION mortise_audit_refuse();
