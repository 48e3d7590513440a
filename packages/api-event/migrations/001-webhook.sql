-- Times are epoch milliseconds, by the database's clock.

CREATE TABLE webhook (
  id TEXT NOT NULL PRIMARY KEY,
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
  deleted_at BIGINT,
  -- Until when the right to everyone's events is proven; null for its owner's alone.
  proven_until BIGINT,
  -- What verified the token that proved it, as the host gives it.
  proof TEXT,
  -- A webhook with as many pending deliveries as allowed is behind. It then has the deliveries of all events up to the
  -- position `filled_to`, and of no later one; `skipped_to` is the last event that it did not get. Both null: not behind.
  filled_to BIGINT,
  skipped_to BIGINT,
  behind_since BIGINT,
  -- When the oldest event happened that was still kept, where earlier ones were deleted before it got them.
  missed_until BIGINT
);
CREATE INDEX webhook_of_owner ON webhook (owner, id) WHERE deleted_at IS NULL;
CREATE INDEX webhook_of_everyone ON webhook (id) WHERE everyone = 1 AND enabled = 1;
CREATE INDEX webhook_deleted ON webhook (id) WHERE deleted_at IS NOT NULL;
CREATE INDEX webhook_behind ON webhook (id) WHERE filled_to IS NOT NULL;
CREATE INDEX webhook_proven ON webhook (proven_until) WHERE everyone = 1 AND enabled = 1;
