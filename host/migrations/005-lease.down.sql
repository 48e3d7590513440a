DROP INDEX mortise_guest_by_expiry_day;
ALTER TABLE mortise_guest DROP COLUMN expiry_day;
DROP TABLE mortise_lease;
