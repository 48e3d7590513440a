-- Searches find products by the terms of the newer rules until they change.
DROP INDEX product_by_older_rules;
ALTER TABLE product DROP COLUMN rules;
