-- Until when the right to everyone's events is proven; null where no version has noted it yet.
ALTER TABLE webhook ADD COLUMN proven_until BIGINT;
-- A webhook with as many pending deliveries as allowed is behind. It then has the deliveries of all events up to the
-- position `filled_to`, and of no later one; `skipped_to` is the last event that it did not get. Both null: not behind.
ALTER TABLE webhook ADD COLUMN filled_to BIGINT;
ALTER TABLE webhook ADD COLUMN skipped_to BIGINT;
ALTER TABLE webhook ADD COLUMN behind_since BIGINT;
-- When the oldest event happened that was still kept, where earlier ones were deleted before it got them.
ALTER TABLE webhook ADD COLUMN missed_until BIGINT;
CREATE INDEX webhook_behind ON webhook (id) WHERE filled_to IS NOT NULL;
CREATE INDEX webhook_proven ON webhook (proven_until) WHERE everyone = 1 AND enabled = 1;

-- SQLite takes no NOT NULL away: the table is made again.
CREATE TABLE webhook_delivery_new (
  webhook TEXT NOT NULL REFERENCES webhook (id),
  -- That of the event.
  id TEXT NOT NULL,
  type TEXT NOT NULL,
  subject TEXT NOT NULL,
  -- That of the event: the order within a subject.
  position BIGINT NOT NULL,
  -- Null: it is made from the log of events. Deliveries of an earlier version, and tests, have their own.
  body TEXT,
  -- pending, delivered or failed.
  state TEXT NOT NULL,
  attempts INTEGER NOT NULL,
  -- When to send it, or, while somebody does, when it is taken from them. Of the pending ones of a subject, one has it.
  due_at BIGINT,
  -- Who sends it.
  claim TEXT,
  attempted_at BIGINT,
  status INTEGER,
  error TEXT,
  response TEXT,
  created_at BIGINT NOT NULL,
  -- When it was delivered, or given up.
  ended_at BIGINT,
  -- Whether the event is not the own one of the webhook's owner.
  of_others INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (webhook, id)
);
INSERT INTO webhook_delivery_new (
  webhook, id, type, subject, position, body, state, attempts, due_at, claim, attempted_at, status, error, response,
  created_at, ended_at, of_others)
SELECT
  webhook, id, type, subject, position, body, state, attempts, due_at, claim, attempted_at, status, error, response,
  created_at, ended_at, webhook IN (SELECT id FROM webhook WHERE everyone = 1) FROM webhook_delivery;
DROP TABLE webhook_delivery;
ALTER TABLE webhook_delivery_new RENAME TO webhook_delivery;
CREATE INDEX webhook_delivery_in_state ON webhook_delivery (webhook, state, id);
CREATE INDEX webhook_delivery_due ON webhook_delivery (due_at, webhook) WHERE due_at IS NOT NULL;
CREATE INDEX webhook_delivery_line ON webhook_delivery (webhook, subject, position) WHERE state = 'pending';
CREATE INDEX webhook_delivery_ended ON webhook_delivery (ended_at) WHERE ended_at IS NOT NULL;
