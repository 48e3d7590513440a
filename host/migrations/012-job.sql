-- Jobs that modules have asked for and not finished. The times are the database's.
CREATE TABLE mortise_job (
  id TEXT NOT NULL PRIMARY KEY,
  module TEXT NOT NULL,
  work TEXT NOT NULL,
  data TEXT NOT NULL, -- JSON
  schedule TEXT, -- a cron expression: the row stays, and is due again
  state TEXT NOT NULL, -- waiting, running, failed
  due_at BIGINT NOT NULL,
  attempts INTEGER NOT NULL, -- begun so far
  error TEXT, -- of the last attempt
  holder TEXT, -- the process at work
  lease TEXT, -- one for each attempt
  held_until BIGINT,
  created_at BIGINT NOT NULL
);
CREATE INDEX mortise_job_by_time ON mortise_job (module, work, state, due_at);
