-- Times are epoch milliseconds. Ids of sessions and links are the SHA-256 of what their holder has.

CREATE TABLE console_session (
  id TEXT NOT NULL PRIMARY KEY,
  caller TEXT NOT NULL,
  scopes TEXT NOT NULL, -- JSON: a list
  -- What verified the token of the sign-in.
  proof TEXT NOT NULL,
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

-- A plan that a session has seen. Consent to it takes it away.
CREATE TABLE console_plan (
  id TEXT NOT NULL PRIMARY KEY,
  session TEXT NOT NULL,
  -- JSON: the command, its words and its options, with what it may apply.
  call TEXT NOT NULL,
  expires_at BIGINT NOT NULL
);
CREATE INDEX console_plan_expiry ON console_plan (expires_at);

CREATE TABLE console_change (
  id TEXT NOT NULL PRIMARY KEY,
  caller TEXT NOT NULL,
  -- As one types it.
  command TEXT NOT NULL,
  began_at BIGINT NOT NULL,
  -- What it has said to people so far.
  notes TEXT NOT NULL,
  -- JSON, once it has ended: the exit code, the document and the notes.
  result TEXT,
  expires_at BIGINT NOT NULL,
  expiry_day BIGINT NOT NULL
);
CREATE INDEX console_change_expiry ON console_change (expiry_day);
