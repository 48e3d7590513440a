-- What an import was asked for, what it left out, and why it ended early.
ALTER TABLE product_import ADD COLUMN stock TEXT NOT NULL DEFAULT 'leave';
-- NULL before a file of CSV has been checked, and for other files.
ALTER TABLE product_import ADD COLUMN separated_by TEXT;
-- Of `done` so many were neither stored nor the same already.
ALTER TABLE product_import ADD COLUMN skipped BIGINT NOT NULL DEFAULT 0;
ALTER TABLE product_import ADD COLUMN failure TEXT;
