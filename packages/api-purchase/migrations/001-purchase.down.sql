DROP TABLE purchase_return;
DROP TABLE purchase_item;
DROP TABLE purchase;
