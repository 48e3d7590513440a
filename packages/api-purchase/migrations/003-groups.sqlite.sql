-- The purchases of an owner with many, counted: see RankedList of the SDK.

CREATE TABLE purchase_group (name TEXT PRIMARY KEY) WITHOUT ROWID;

CREATE TABLE purchase_group_progress (name TEXT PRIMARY KEY, position BIGINT NOT NULL) WITHOUT ROWID;

CREATE TABLE purchase_group_rank (
  name TEXT NOT NULL,
  list TEXT NOT NULL,
  level INTEGER NOT NULL,
  block BIGINT NOT NULL,
  count BIGINT NOT NULL,
  PRIMARY KEY (name, list, level, block)
) WITHOUT ROWID;
CREATE INDEX purchase_group_rank_empty ON purchase_group_rank (count) WHERE count = 0;

CREATE TABLE purchase_group_change (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  position BIGINT NOT NULL,
  list TEXT NOT NULL,
  count INTEGER NOT NULL
);
CREATE INDEX purchase_group_change_of_name ON purchase_group_change (name);

CREATE TRIGGER purchase_group_added AFTER INSERT ON purchase
WHEN NEW.deleted_at IS NULL AND EXISTS (SELECT 1 FROM purchase_group WHERE name = NEW.owner)
BEGIN
  INSERT INTO purchase_group_change (name, position, list, count) VALUES (NEW.owner, NEW.seq, NEW.status, 1);
END;

CREATE TRIGGER purchase_group_changed AFTER UPDATE OF owner, status, deleted_at ON purchase
BEGIN
  INSERT INTO purchase_group_change (name, position, list, count)
  SELECT name, OLD.seq, OLD.status, -1 FROM purchase_group WHERE name = OLD.owner AND OLD.deleted_at IS NULL;
  -- A new owner may have become one with many.
  INSERT INTO purchase_group_change (name, position, list, count)
  SELECT NEW.owner, NEW.seq, NEW.status, 1
  WHERE NEW.deleted_at IS NULL
    AND (NEW.owner <> OLD.owner OR EXISTS (SELECT 1 FROM purchase_group WHERE name = NEW.owner));
END;
