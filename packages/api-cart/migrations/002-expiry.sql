CREATE INDEX cart_by_expiry ON cart (expires_at);
