CREATE TABLE webhook_delivery_former (
  webhook TEXT NOT NULL REFERENCES webhook (id),
  -- That of the event.
  id TEXT NOT NULL,
  type TEXT NOT NULL,
  subject TEXT NOT NULL,
  -- That of the event: the order within a subject.
  position BIGINT NOT NULL,
  -- What is sent: the event may be deleted by retention meanwhile.
  body TEXT NOT NULL,
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
  PRIMARY KEY (webhook, id)
);
-- The former version cannot make a body; the events are in GET /event.
INSERT INTO webhook_delivery_former (
  webhook, id, type, subject, position, body, state, attempts, due_at, claim, attempted_at, status, error, response,
  created_at, ended_at)
SELECT
  webhook, id, type, subject, position, body, state, attempts, due_at, claim, attempted_at, status, error, response,
  created_at, ended_at FROM webhook_delivery WHERE body IS NOT NULL;
DROP TABLE webhook_delivery;
ALTER TABLE webhook_delivery_former RENAME TO webhook_delivery;
CREATE INDEX webhook_delivery_in_state ON webhook_delivery (webhook, state, id);
CREATE INDEX webhook_delivery_due ON webhook_delivery (due_at, webhook) WHERE due_at IS NOT NULL;
CREATE INDEX webhook_delivery_line ON webhook_delivery (webhook, subject, position) WHERE state = 'pending';
CREATE INDEX webhook_delivery_ended ON webhook_delivery (ended_at) WHERE ended_at IS NOT NULL;
-- A line that has lost the delivery whose turn it was gives the turn to the next.
UPDATE webhook_delivery SET due_at = created_at
WHERE state = 'pending' AND due_at IS NULL AND NOT EXISTS (
  SELECT 1 FROM webhook_delivery AS other
  WHERE other.webhook = webhook_delivery.webhook AND other.subject = webhook_delivery.subject
    AND other.state = 'pending' AND (other.due_at IS NOT NULL OR other.position < webhook_delivery.position));
DROP INDEX webhook_proven;
DROP INDEX webhook_behind;
ALTER TABLE webhook DROP COLUMN missed_until;
ALTER TABLE webhook DROP COLUMN behind_since;
ALTER TABLE webhook DROP COLUMN skipped_to;
ALTER TABLE webhook DROP COLUMN filled_to;
ALTER TABLE webhook DROP COLUMN proven_until;
