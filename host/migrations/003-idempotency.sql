-- What became of requests with an Idempotency-Key, for 24 hours: each row is committed together with the effect of
-- its request, so that neither is there without the other.
CREATE TABLE mortise_idempotency (
  caller TEXT NOT NULL,
  idempotency_key TEXT NOT NULL,
  route TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  status INTEGER NOT NULL,
  headers TEXT NOT NULL,
  body TEXT,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (caller, idempotency_key, route)
);

CREATE INDEX mortise_idempotency_by_age ON mortise_idempotency (created_at);
