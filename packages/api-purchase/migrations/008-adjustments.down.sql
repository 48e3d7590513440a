ALTER TABLE purchase DROP COLUMN adjustments;
