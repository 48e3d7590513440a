DROP TRIGGER purchase_group_added;
DROP TRIGGER purchase_group_changed;
DROP TABLE purchase_group_change;
DROP TABLE purchase_group_rank;
DROP TABLE purchase_group_progress;
DROP TABLE purchase_group;
