DROP TABLE review;
