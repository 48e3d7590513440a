DROP TABLE cart_reservation;
