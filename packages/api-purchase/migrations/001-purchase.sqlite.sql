-- Times are epoch milliseconds, amounts are minor units.

CREATE TABLE purchase (
  -- The place in the list of all purchases, and what items refer to; never leaves the module.
  seq BIGINT NOT NULL PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  owner TEXT NOT NULL,
  status TEXT NOT NULL,
  item_count INTEGER NOT NULL,
  total_quantity BIGINT NOT NULL,
  -- What it was sold for; NULL without a catalogue.
  total BIGINT,
  currency TEXT,
  -- The discounts, taxes and fees in the total: JSON of a list. NULL without a module for them.
  adjustments TEXT,
  note TEXT,
  reference TEXT,
  version BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  -- Set once deleted: the row stays for the audit trail, and is in no response.
  deleted_at BIGINT
);
CREATE INDEX purchase_of_owner ON purchase (owner, status, seq) WHERE deleted_at IS NULL;
CREATE INDEX purchase_in_status ON purchase (status, seq) WHERE deleted_at IS NULL;

CREATE TABLE purchase_item (
  purchase_seq BIGINT NOT NULL REFERENCES purchase (seq),
  position INTEGER NOT NULL,
  id TEXT NOT NULL,
  product TEXT NOT NULL,
  -- Which product that is, as the contract `catalog` has it: another product may get its id. NULL without a catalogue.
  identity TEXT,
  quantity INTEGER NOT NULL CHECK (quantity BETWEEN 1 AND 9999),
  note TEXT,
  name TEXT,
  unit_price BIGINT,
  -- Whether it has taken stock, which is given back at most once.
  taken INTEGER NOT NULL,
  PRIMARY KEY (purchase_seq, position)
);

-- Purchases whose stock is given back as soon as there is a catalogue again.
CREATE TABLE purchase_return (purchase_seq BIGINT NOT NULL PRIMARY KEY REFERENCES purchase (seq));
