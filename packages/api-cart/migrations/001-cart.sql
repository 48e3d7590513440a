-- Times are epoch milliseconds.

CREATE TABLE cart (
  id TEXT NOT NULL PRIMARY KEY,
  owner TEXT NOT NULL UNIQUE,
  version BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  -- The day of expires_at since the epoch. An index on expires_at itself would be written at every change of a cart,
  -- and in PostgreSQL have changes of different carts conflict.
  expiry_day BIGINT NOT NULL
);
CREATE INDEX cart_by_expiry_day ON cart (expiry_day);

CREATE TABLE cart_item (
  id TEXT NOT NULL PRIMARY KEY,
  cart_id TEXT NOT NULL REFERENCES cart (id) ON DELETE CASCADE,
  -- The version of the cart that the item came with: items are listed in this order.
  since_version BIGINT NOT NULL,
  product TEXT NOT NULL,
  -- Which product that is, as the contract `catalog` has it: another product may get its id. NULL: there was no
  -- catalogue, and the line means the product with the id.
  identity TEXT,
  quantity INTEGER NOT NULL CHECK (quantity BETWEEN 1 AND 9999),
  note TEXT,
  version BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  UNIQUE (cart_id, product),
  UNIQUE (cart_id, since_version)
);

-- Stock that is taken for the lines of a cart. Who deletes rows gives their stock back, or sells it. A row outlives its
-- cart until then.
CREATE TABLE cart_reservation (
  cart_id TEXT NOT NULL,
  product TEXT NOT NULL,
  identity TEXT NOT NULL,
  quantity INTEGER NOT NULL CHECK (quantity > 0),
  expires_at BIGINT NOT NULL,
  PRIMARY KEY (cart_id, product)
);
CREATE INDEX cart_reservation_by_expiry ON cart_reservation (expires_at);
