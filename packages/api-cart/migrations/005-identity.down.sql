ALTER TABLE cart_reservation DROP COLUMN identity;
ALTER TABLE cart_item DROP COLUMN identity;
