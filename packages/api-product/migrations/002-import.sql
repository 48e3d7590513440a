-- Files of products on their way into the catalogue. Times are epoch milliseconds.
CREATE TABLE product_import (
  id TEXT NOT NULL PRIMARY KEY,
  -- What it was asked for.
  format TEXT NOT NULL,
  skip_invalid INTEGER NOT NULL,
  stock TEXT NOT NULL,
  -- NULL once the import has ended.
  bytes BYTEA,
  -- NULL before a file of CSV has been checked, and for other files.
  separated_by TEXT,
  status TEXT NOT NULL,
  -- The products of the file; NULL before it has been checked.
  products BIGINT,
  -- Of these so many, from the first on, are stored or skipped.
  done BIGINT NOT NULL,
  created BIGINT NOT NULL,
  changed BIGINT NOT NULL,
  -- Of `done` so many were neither stored nor the same already.
  skipped BIGINT NOT NULL,
  error_count BIGINT NOT NULL,
  -- JSON of the first errors.
  errors TEXT NOT NULL,
  -- Why it ended early.
  failure TEXT,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  expiry_day BIGINT NOT NULL
);
CREATE INDEX product_import_by_expiry_day ON product_import (expiry_day);
