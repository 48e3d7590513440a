ALTER TABLE cart_item DROP COLUMN note;
