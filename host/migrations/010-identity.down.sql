DROP TABLE mortise_identity;
