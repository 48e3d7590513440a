CREATE TABLE task (
  id TEXT PRIMARY KEY,
  owner TEXT NOT NULL,
  text TEXT NOT NULL
);

CREATE INDEX task_of_owner ON task (owner, id);
