-- Times are epoch milliseconds. Ids are the SHA-256 of what their holder has.

CREATE TABLE console_session (
  id TEXT NOT NULL PRIMARY KEY,
  caller TEXT NOT NULL,
  -- Separated by spaces.
  scopes TEXT NOT NULL,
  signed_in_at BIGINT NOT NULL,
  seen_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  expiry_day BIGINT NOT NULL
);
CREATE INDEX console_session_expiry ON console_session (expiry_day);

-- One-time links that have been used.
CREATE TABLE console_link (
  id TEXT NOT NULL PRIMARY KEY,
  expires_at BIGINT NOT NULL,
  expiry_day BIGINT NOT NULL
);
CREATE INDEX console_link_expiry ON console_link (expiry_day);
