-- The records of one object, newest first.
CREATE INDEX mortise_audit_by_object ON mortise_audit (object, seq);
