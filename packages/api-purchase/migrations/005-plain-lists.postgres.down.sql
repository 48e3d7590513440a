DROP INDEX purchase_of_owner;
CREATE INDEX purchase_of_owner ON purchase (owner, seq, status) WHERE deleted_at IS NULL;

DROP TRIGGER purchase_rank_folded ON purchase_rank_change;
DROP FUNCTION purchase_rank_fold();
DELETE FROM purchase_rank_change;
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

CREATE FUNCTION purchase_group_note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO purchase_group_change (name, position, list, count)
    SELECT name, NEW.seq, NEW.status, 1 FROM purchase_group WHERE name = NEW.owner AND NEW.deleted_at IS NULL;
    RETURN NULL;
  END IF;
  INSERT INTO purchase_group_change (name, position, list, count)
  SELECT name, OLD.seq, OLD.status, -1 FROM purchase_group WHERE name = OLD.owner AND OLD.deleted_at IS NULL;
  -- A new owner may have become one with many.
  INSERT INTO purchase_group_change (name, position, list, count)
  SELECT NEW.owner, NEW.seq, NEW.status, 1
  WHERE NEW.deleted_at IS NULL
    AND (NEW.owner <> OLD.owner OR EXISTS (SELECT 1 FROM purchase_group WHERE name = NEW.owner));
  RETURN NULL;
END
$$;
CREATE TRIGGER purchase_group_added AFTER INSERT ON purchase
FOR EACH ROW EXECUTE FUNCTION purchase_group_note();
CREATE TRIGGER purchase_group_changed AFTER UPDATE OF owner, status, deleted_at ON purchase
FOR EACH ROW EXECUTE FUNCTION purchase_group_note();
