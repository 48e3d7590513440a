ALTER TABLE webhook_delivery ALTER COLUMN id TYPE TEXT COLLATE "default";
