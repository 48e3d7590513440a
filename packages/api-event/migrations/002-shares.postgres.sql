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

-- Null: it is made from the log of events. Deliveries of an earlier version, and tests, have their own.
ALTER TABLE webhook_delivery ALTER COLUMN body DROP NOT NULL;
-- Whether the event is not the own one of the webhook's owner.
ALTER TABLE webhook_delivery ADD COLUMN of_others INTEGER NOT NULL DEFAULT 0;
UPDATE webhook_delivery SET of_others = 1 WHERE webhook IN (SELECT id FROM webhook WHERE everyone = 1);
