-- Times are epoch milliseconds, by the database's clock.

CREATE TABLE webhook_delivery (
  webhook TEXT NOT NULL REFERENCES webhook (id),
  -- That of the event.
  id TEXT NOT NULL,
  type TEXT NOT NULL,
  subject TEXT NOT NULL,
  -- That of the event: the order within a subject.
  position BIGINT NOT NULL,
  -- What is sent, of a test; null: it is made from the log of events.
  body TEXT,
  -- pending, delivered or failed.
  state TEXT NOT NULL,
  attempts INTEGER NOT NULL,
  -- When to send it, or, while somebody does, when the lease ends. Of the pending ones of a subject, one has it.
  due_at BIGINT,
  -- Of who sends it.
  lease TEXT,
  attempted_at BIGINT,
  status INTEGER,
  error TEXT,
  response TEXT,
  created_at BIGINT NOT NULL,
  -- When it was delivered, or given up.
  ended_at BIGINT,
  -- Whether the event is not the own one of the webhook's owner.
  of_others INTEGER NOT NULL,
  PRIMARY KEY (webhook, id)
);
CREATE INDEX webhook_delivery_in_state ON webhook_delivery (webhook, state, id);
CREATE INDEX webhook_delivery_due ON webhook_delivery (due_at, webhook) WHERE due_at IS NOT NULL;
CREATE INDEX webhook_delivery_line ON webhook_delivery (webhook, subject, position) WHERE state = 'pending';
CREATE INDEX webhook_delivery_ended ON webhook_delivery (ended_at) WHERE ended_at IS NOT NULL;
