-- All events in their one sequence; rows are only added, and the oldest deleted. Times are epoch milliseconds.
CREATE TABLE mortise_event (
  position BIGINT PRIMARY KEY, -- from 1, without gaps; the newest is never deleted, so that none is given twice
  id TEXT NOT NULL UNIQUE,
  type TEXT NOT NULL,
  source TEXT NOT NULL,
  subject TEXT NOT NULL,
  owner TEXT,
  at BIGINT NOT NULL,
  data TEXT NOT NULL, -- JSON
  traceparent TEXT
);
CREATE INDEX mortise_event_by_owner ON mortise_event (owner, position);

-- Those that have no position yet: transactions do not commit in the order in which they count `seq` up, and who has
-- read one position must never find a lower one later. Of one subject the order of `seq` is that of the commits,
-- since its changes write the same row.
CREATE TABLE mortise_event_new (
  seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id TEXT NOT NULL,
  type TEXT NOT NULL,
  source TEXT NOT NULL,
  subject TEXT NOT NULL,
  owner TEXT,
  at BIGINT NOT NULL,
  data TEXT NOT NULL,
  traceparent TEXT
);
