ALTER TABLE purchase_item DROP COLUMN identity;
