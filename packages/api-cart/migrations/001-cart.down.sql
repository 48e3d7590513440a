DROP TABLE cart_reservation;
DROP TABLE cart_item;
DROP TABLE cart;
