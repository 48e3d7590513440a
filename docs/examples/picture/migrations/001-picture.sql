CREATE TABLE picture (
  id TEXT PRIMARY KEY,
  owner TEXT NOT NULL,
  title TEXT NOT NULL,
  media_type TEXT NOT NULL,
  bytes BYTEA NOT NULL
);

CREATE INDEX picture_of_owner ON picture (owner);
