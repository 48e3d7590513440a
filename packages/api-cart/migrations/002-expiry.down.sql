DROP INDEX cart_by_expiry;
