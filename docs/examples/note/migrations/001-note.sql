-- Times are epoch milliseconds.

CREATE TABLE note (
  id TEXT PRIMARY KEY,
  owner TEXT NOT NULL,
  text TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL
);

CREATE INDEX note_of_owner ON note (owner, created_at);
