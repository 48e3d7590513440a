-- Times are epoch milliseconds.

CREATE TABLE purchase (
  -- The place in the list of all purchases, and what items refer to; never leaves the module.
  seq BIGINT PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  owner TEXT NOT NULL,
  status TEXT NOT NULL,
  item_count INTEGER NOT NULL,
  total_quantity BIGINT NOT NULL,
  version BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  -- Set once deleted: the row stays for the audit trail, and is in no answer.
  deleted_at BIGINT
);

CREATE INDEX purchase_of_owner ON purchase (owner, seq, status) WHERE deleted_at IS NULL;
CREATE INDEX purchase_in_status ON purchase (status, seq) WHERE deleted_at IS NULL;

CREATE TABLE purchase_item (
  purchase_seq BIGINT NOT NULL REFERENCES purchase (seq),
  position INTEGER NOT NULL,
  id TEXT NOT NULL,
  product TEXT NOT NULL,
  quantity INTEGER NOT NULL CHECK (quantity BETWEEN 1 AND 9999),
  PRIMARY KEY (purchase_seq, position)
);

-- How many purchases each status has per block of seq: see RankedList of the SDK.
CREATE TABLE purchase_rank (
  level INTEGER NOT NULL,
  block BIGINT NOT NULL,
  list TEXT NOT NULL,
  count BIGINT NOT NULL CHECK (count >= 0),
  PRIMARY KEY (level, block, list)
);
