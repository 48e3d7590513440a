DROP INDEX purchase_of_owner;
CREATE INDEX purchase_of_owner ON purchase (owner, seq, status) WHERE deleted_at IS NULL;

DELETE FROM purchase_rank;
INSERT INTO purchase_rank (level, block, list, count)
SELECT 1, seq / 64, status, count(*) FROM purchase WHERE deleted_at IS NULL GROUP BY seq / 64, status;
INSERT INTO purchase_rank (level, block, list, count)
SELECT 2, block / 64, list, sum(count) FROM purchase_rank WHERE level = 1 GROUP BY block / 64, list;
INSERT INTO purchase_rank (level, block, list, count)
SELECT 3, block / 64, list, sum(count) FROM purchase_rank WHERE level = 2 GROUP BY block / 64, list;

-- The previous version looks for owners with many purchases again.
DELETE FROM purchase_group;
DELETE FROM purchase_group_progress;
DELETE FROM purchase_group_rank;
DELETE FROM purchase_group_change;

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
