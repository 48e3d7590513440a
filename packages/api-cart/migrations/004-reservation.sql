-- Stock that is taken for the lines of a cart. Who deletes rows gives their stock back, or sells it. A row outlives its
-- cart until then.
CREATE TABLE cart_reservation (
  cart_id TEXT NOT NULL,
  product TEXT NOT NULL,
  quantity INTEGER NOT NULL CHECK (quantity > 0),
  expires_at BIGINT NOT NULL,
  PRIMARY KEY (cart_id, product)
);
CREATE INDEX cart_reservation_by_expiry ON cart_reservation (expires_at);
