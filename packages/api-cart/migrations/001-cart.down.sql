DROP TABLE cart_item;
DROP TABLE cart;
