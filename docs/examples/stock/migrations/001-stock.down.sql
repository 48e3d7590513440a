DROP TABLE stock_import;
DROP TABLE stock;
