-- The former version cannot make a body; the events are in GET /event.
DELETE FROM webhook_delivery WHERE body IS NULL;
-- A line that has lost the delivery whose turn it was gives the turn to the next.
UPDATE webhook_delivery SET due_at = created_at
WHERE state = 'pending' AND due_at IS NULL AND NOT EXISTS (
  SELECT 1 FROM webhook_delivery AS other
  WHERE other.webhook = webhook_delivery.webhook AND other.subject = webhook_delivery.subject
    AND other.state = 'pending' AND (other.due_at IS NOT NULL OR other.position < webhook_delivery.position));
ALTER TABLE webhook_delivery ALTER COLUMN body SET NOT NULL;
ALTER TABLE webhook_delivery DROP COLUMN of_others;
DROP INDEX webhook_proven;
DROP INDEX webhook_behind;
ALTER TABLE webhook DROP COLUMN missed_until;
ALTER TABLE webhook DROP COLUMN behind_since;
ALTER TABLE webhook DROP COLUMN skipped_to;
ALTER TABLE webhook DROP COLUMN filled_to;
ALTER TABLE webhook DROP COLUMN proven_until;
