ALTER TABLE product DROP COLUMN identity;
