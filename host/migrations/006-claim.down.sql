DROP TABLE mortise_claim;
-- Their tokens would be good again.
DELETE FROM mortise_guest WHERE claimed_by IS NOT NULL;
ALTER TABLE mortise_guest DROP COLUMN claimed_by;
