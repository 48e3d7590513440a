-- Times are epoch milliseconds; where a lease is meant, by the database's clock.

-- Which database this is. The application remembers it in .app/identity.json and opens no other one.
CREATE TABLE mortise_identity (
  id TEXT NOT NULL PRIMARY KEY,
  one_row INTEGER NOT NULL DEFAULT 1 UNIQUE CHECK (one_row = 1)
);

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

-- Who of several hosts does what only one is to do, until when.
CREATE TABLE mortise_lease (
  name TEXT NOT NULL PRIMARY KEY,
  holder TEXT NOT NULL,
  expires_at BIGINT NOT NULL
);

-- Guests who have written something, or asked for a token. Of the token only its SHA-256 is kept.
CREATE TABLE mortise_guest (
  id TEXT NOT NULL PRIMARY KEY,
  token_hash TEXT NOT NULL UNIQUE,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  -- The day of expires_at since the epoch. An index on expires_at itself would be written whenever a guest writes.
  expiry_day BIGINT NOT NULL,
  -- The user who has claimed the guest: the token is nobody's any more.
  claimed_by TEXT
);
CREATE INDEX mortise_guest_by_expiry_day ON mortise_guest (expiry_day);

-- What a module that did not serve at the time is still to hand over, from one caller to another.
CREATE TABLE mortise_claim (
  module TEXT NOT NULL,
  guest TEXT NOT NULL,
  claimed_by TEXT NOT NULL,
  PRIMARY KEY (module, guest)
);

-- What became of requests with an Idempotency-Key, for 24 hours: each row is committed together with the effect of
-- its request, so that neither is there without the other.
CREATE TABLE mortise_idempotency (
  caller TEXT NOT NULL,
  idempotency_key TEXT NOT NULL,
  route TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  status INTEGER NOT NULL,
  headers TEXT NOT NULL,
  body TEXT,
  created_at BIGINT NOT NULL,
  -- The id of an event of the same transaction whose data are the body of the response, to the byte: it is kept there
  -- alone.
  event TEXT,
  -- The scopes that the response may depend on, as a list in JSON; NULL for none.
  scopes TEXT,
  PRIMARY KEY (caller, idempotency_key, route)
);
CREATE INDEX mortise_idempotency_by_age ON mortise_idempotency (created_at);
CREATE INDEX mortise_idempotency_by_event ON mortise_idempotency (event) WHERE event IS NOT NULL;

-- What hosts of one PostgreSQL have counted against rate limits, by the hash of limit and caller, in this minute and
-- the one before. Of a SQLite there is one host, which keeps it in memory.
CREATE TABLE mortise_rate (
  id TEXT NOT NULL,
  minute BIGINT NOT NULL, -- since the epoch
  count BIGINT NOT NULL,
  PRIMARY KEY (id, minute)
);

-- How far the event handlers of each module are, and which host runs them, until when.
CREATE TABLE mortise_subscription (
  name TEXT NOT NULL PRIMARY KEY, -- the id of the module
  position BIGINT NOT NULL, -- every event up to here is done, or is a row below
  holder TEXT NOT NULL,
  held_until BIGINT NOT NULL
);

-- Events whose handler has failed, and later ones of the same subject, which wait for them. An event is whole here,
-- since it may be kept for longer than the others are.
CREATE TABLE mortise_failed_event (
  subscription TEXT NOT NULL,
  position BIGINT NOT NULL,
  event_id TEXT NOT NULL,
  subject TEXT NOT NULL,
  event TEXT NOT NULL, -- JSON
  attempts INTEGER NOT NULL,
  next_at BIGINT, -- NULL: it waits for an earlier one, or is dead
  state TEXT NOT NULL, -- waiting, dead
  error TEXT,
  PRIMARY KEY (subscription, position)
);
CREATE INDEX mortise_failed_event_by_time ON mortise_failed_event (subscription, next_at);
CREATE INDEX mortise_failed_event_by_subject ON mortise_failed_event (subscription, subject, position);

-- Jobs that modules have asked for and not finished.
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
