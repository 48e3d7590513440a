-- Deliveries are listed by id: in the order of SQLite, whatever the collation of the database is.
ALTER TABLE webhook_delivery ALTER COLUMN id TYPE TEXT COLLATE "C";
