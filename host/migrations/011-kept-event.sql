-- The id of an event of the same transaction whose data are the body of the answer, to the byte: it is kept there alone.
ALTER TABLE mortise_idempotency ADD COLUMN event TEXT;
CREATE INDEX mortise_idempotency_by_event ON mortise_idempotency (event) WHERE event IS NOT NULL;
-- The scopes that the answer may depend on, as a list in JSON; NULL for none.
ALTER TABLE mortise_idempotency ADD COLUMN scopes TEXT;
