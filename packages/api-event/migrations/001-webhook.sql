-- Times are epoch milliseconds, by the database's clock.

CREATE TABLE webhook (
  id TEXT PRIMARY KEY,
  -- Who has made it.
  owner TEXT NOT NULL,
  -- Whether it gets everyone's events, and not its owner's alone.
  everyone INTEGER NOT NULL,
  url TEXT NOT NULL,
  -- JSON: ["purchase.created"], or ["*"].
  types TEXT NOT NULL,
  description TEXT NOT NULL,
  -- JSON, the newest first: [{ "secret": "whsec_…", "until": null }, …].
  secrets TEXT NOT NULL,
  enabled INTEGER NOT NULL,
  -- Why the host has disabled it.
  disabled_reason TEXT,
  -- Of the first attempt that failed since the last one that succeeded.
  failing_since BIGINT,
  version BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  -- Set once deleted: the row goes after its deliveries.
  deleted_at BIGINT
);

CREATE INDEX webhook_of_owner ON webhook (owner, id) WHERE deleted_at IS NULL;
CREATE INDEX webhook_of_everyone ON webhook (id) WHERE everyone = 1 AND enabled = 1;
CREATE INDEX webhook_deleted ON webhook (id) WHERE deleted_at IS NOT NULL;

CREATE TABLE webhook_delivery (
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

CREATE INDEX webhook_delivery_in_state ON webhook_delivery (webhook, state, id);
CREATE INDEX webhook_delivery_due ON webhook_delivery (due_at, webhook) WHERE due_at IS NOT NULL;
CREATE INDEX webhook_delivery_line ON webhook_delivery (webhook, subject, position) WHERE state = 'pending';
CREATE INDEX webhook_delivery_ended ON webhook_delivery (ended_at) WHERE ended_at IS NOT NULL;
