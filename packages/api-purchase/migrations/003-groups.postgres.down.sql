DROP TRIGGER purchase_group_added ON purchase;
DROP TRIGGER purchase_group_changed ON purchase;
DROP FUNCTION purchase_group_note();
DROP TABLE purchase_group_change;
DROP TABLE purchase_group_rank;
DROP TABLE purchase_group_progress;
DROP TABLE purchase_group;
