DROP TABLE purchase_rank;
DROP TABLE purchase_item;
DROP TABLE purchase;
