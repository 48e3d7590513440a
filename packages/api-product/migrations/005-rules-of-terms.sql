-- The rules that made the terms of a product: RULES in terms.ts. The host makes those of older rules again.
ALTER TABLE product ADD COLUMN rules INTEGER NOT NULL DEFAULT 0;
CREATE INDEX product_by_older_rules ON product (id) WHERE rules < 1 AND deleted_at IS NULL;
