CREATE TABLE my_thing (
  id TEXT NOT NULL PRIMARY KEY,
  owner TEXT NOT NULL, -- a caller id
  text TEXT NOT NULL,
  created_at BIGINT NOT NULL -- epoch milliseconds
);
CREATE INDEX my_thing_by_owner ON my_thing (owner, id);
