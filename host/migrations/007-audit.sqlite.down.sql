DROP TABLE mortise_audit;
