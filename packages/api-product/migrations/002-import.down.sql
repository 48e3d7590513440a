DROP TABLE product_import;
