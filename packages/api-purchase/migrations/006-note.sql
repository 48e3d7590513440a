ALTER TABLE purchase_item ADD COLUMN note TEXT;
