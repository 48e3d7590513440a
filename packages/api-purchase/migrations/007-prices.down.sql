DROP TABLE purchase_return;
ALTER TABLE purchase_item DROP COLUMN taken;
ALTER TABLE purchase_item DROP COLUMN unit_price;
ALTER TABLE purchase_item DROP COLUMN name;
ALTER TABLE purchase DROP COLUMN reference;
ALTER TABLE purchase DROP COLUMN note;
ALTER TABLE purchase DROP COLUMN currency;
ALTER TABLE purchase DROP COLUMN total;
