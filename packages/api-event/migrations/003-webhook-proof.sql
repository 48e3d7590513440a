-- What verified the token that proved the right to everyone's events, as the host gives it. No earlier proof has it,
-- so these end: the webhooks stop until their owners enable them again.
ALTER TABLE webhook ADD COLUMN proof TEXT;
UPDATE webhook SET proven_until = updated_at WHERE everyone = 1;
