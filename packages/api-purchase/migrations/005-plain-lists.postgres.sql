-- Lists are read from indexes, and nothing is counted on a write any more. Until the switch is over the previous
-- version serves, and after a rollback it serves again: it writes purchase_rank_change, so the tables of counts stay.
-- The next version drops them. It has counted the purchases of nobody, so it reads all rows of an owner.
DROP TRIGGER purchase_group_added ON purchase;
DROP TRIGGER purchase_group_changed ON purchase;
DROP FUNCTION purchase_group_note();
DELETE FROM purchase_group;

-- No host folds the changes any more. A backup with rows of this table could not be restored on SQLite.
WITH change AS (DELETE FROM purchase_rank_change RETURNING level, block, list, count)
INSERT INTO purchase_rank (level, block, list, count)
SELECT level, block, list, sum(count) FROM change GROUP BY level, block, list
ON CONFLICT (level, block, list) DO UPDATE SET count = purchase_rank.count + excluded.count;
CREATE FUNCTION purchase_rank_fold() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  WITH change AS (DELETE FROM purchase_rank_change RETURNING level, block, list, count)
  INSERT INTO purchase_rank (level, block, list, count)
  SELECT level, block, list, sum(count) FROM change GROUP BY level, block, list
  ON CONFLICT (level, block, list) DO UPDATE SET count = purchase_rank.count + excluded.count;
  RETURN NULL;
END
$$;
CREATE TRIGGER purchase_rank_folded AFTER INSERT ON purchase_rank_change
FOR EACH STATEMENT EXECUTE FUNCTION purchase_rank_fold();

DROP INDEX purchase_of_owner;
CREATE INDEX purchase_of_owner ON purchase (owner, status, seq) WHERE deleted_at IS NULL;
