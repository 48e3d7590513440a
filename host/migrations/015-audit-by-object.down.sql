DROP INDEX mortise_audit_by_object;
