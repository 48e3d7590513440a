-- Times are epoch milliseconds.

CREATE TABLE cart (
  id TEXT PRIMARY KEY,
  owner TEXT NOT NULL UNIQUE,
  version BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL
);

CREATE TABLE cart_item (
  id TEXT PRIMARY KEY,
  cart_id TEXT NOT NULL REFERENCES cart (id) ON DELETE CASCADE,
  -- The version of the cart that the item came with: items are listed in this order.
  since_version BIGINT NOT NULL,
  product TEXT NOT NULL,
  quantity INTEGER NOT NULL CHECK (quantity BETWEEN 1 AND 9999),
  version BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  UNIQUE (cart_id, product),
  UNIQUE (cart_id, since_version)
);
