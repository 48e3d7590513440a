DROP TABLE mortise_audit;
DROP FUNCTION mortise_audit_refuse();
