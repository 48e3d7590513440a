-- The day of expires_at since the epoch. An index on expires_at itself would be written at every change of a cart, and
-- in PostgreSQL have changes of different carts conflict.
ALTER TABLE cart ADD COLUMN expiry_day BIGINT NOT NULL DEFAULT 0;
UPDATE cart SET expiry_day = expires_at / 86400000;
CREATE INDEX cart_by_expiry_day ON cart (expiry_day);
