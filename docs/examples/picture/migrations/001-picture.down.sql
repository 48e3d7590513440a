DROP TABLE picture;
