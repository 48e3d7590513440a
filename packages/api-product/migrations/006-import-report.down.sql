ALTER TABLE product_import DROP COLUMN stock;
ALTER TABLE product_import DROP COLUMN separated_by;
ALTER TABLE product_import DROP COLUMN skipped;
ALTER TABLE product_import DROP COLUMN failure;
