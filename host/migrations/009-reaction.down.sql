DROP TABLE mortise_reaction;
DROP TABLE mortise_subscription;
