DROP INDEX mortise_guest_by_expiry;
DROP TABLE mortise_lease;
