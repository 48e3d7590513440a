-- What hosts of one PostgreSQL have counted against rate limits, by the hash of limit and caller, in this minute and
-- the one before. Of a SQLite there is one host, which keeps it in memory.
CREATE TABLE mortise_rate (
  id TEXT NOT NULL,
  minute BIGINT NOT NULL, -- since the epoch
  count BIGINT NOT NULL,
  PRIMARY KEY (id, minute)
);
