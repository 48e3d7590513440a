DROP INDEX cart_by_expiry_day;
ALTER TABLE cart DROP COLUMN expiry_day;
