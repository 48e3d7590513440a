INSERT INTO purchase_rank (level, block, list, count)
SELECT level, block, list, sum(count) FROM purchase_rank_change GROUP BY level, block, list
ON CONFLICT (level, block, list) DO UPDATE SET count = purchase_rank.count + excluded.count;
DROP TABLE purchase_rank_change;
ALTER TABLE purchase_rank ADD CONSTRAINT purchase_rank_count_check CHECK (count >= 0);
ALTER TABLE purchase ALTER seq DROP IDENTITY;
