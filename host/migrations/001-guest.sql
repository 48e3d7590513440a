-- Guests who have written something, or asked for a token. Of the token only its SHA-256 is kept.
CREATE TABLE mortise_guest (
  id TEXT NOT NULL PRIMARY KEY,
  token_hash TEXT NOT NULL UNIQUE,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL
);
