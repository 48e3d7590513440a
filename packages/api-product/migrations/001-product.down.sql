DROP TABLE product_term;
DROP TABLE product;
