DROP TABLE mortise_idempotency;
