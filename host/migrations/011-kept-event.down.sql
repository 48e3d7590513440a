UPDATE mortise_idempotency SET body = coalesce(
  (SELECT data FROM mortise_event WHERE mortise_event.id = mortise_idempotency.event),
  (SELECT data FROM mortise_event_new WHERE mortise_event_new.id = mortise_idempotency.event))
WHERE event IS NOT NULL;
DROP INDEX mortise_idempotency_by_event;
ALTER TABLE mortise_idempotency DROP COLUMN event;
ALTER TABLE mortise_idempotency DROP COLUMN scopes;
