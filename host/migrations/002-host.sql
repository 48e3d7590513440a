-- The processes that serve from this database, and what: on PostgreSQL there may be several. A heartbeat renews each
-- row, and who stays silent is removed by the others.
CREATE TABLE mortise_host (
  id TEXT NOT NULL PRIMARY KEY,
  machine TEXT NOT NULL,
  pid BIGINT NOT NULL,
  url TEXT NOT NULL,
  version TEXT NOT NULL,
  generation BIGINT NOT NULL,
  modules TEXT NOT NULL,
  seen_at BIGINT NOT NULL
);
