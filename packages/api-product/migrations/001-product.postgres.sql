-- Times are epoch milliseconds, amounts are minor units. The order of text is that of its code points.

-- Each page has room for the next version of a row: a sale then writes no index, which other purchases read.
CREATE TABLE product (
  id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  -- What the product is: one that gets the id of a deleted product has another identity.
  identity TEXT NOT NULL,
  name TEXT NOT NULL,
  description TEXT,
  -- JSON: [{ url, alt }], { name: value }, [{ amount, currency }].
  images TEXT NOT NULL,
  attributes TEXT NOT NULL,
  group_id TEXT,
  prices TEXT NOT NULL,
  -- NULL: unlimited.
  stock BIGINT CHECK (stock >= 0),
  active INTEGER NOT NULL,
  version BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  -- Set once deleted: the row keeps the version for a product that gets the id again.
  deleted_at BIGINT
) WITH (fillfactor = 70);

-- What a product is found by, and sorted by: see terms.ts.
CREATE TABLE product_term (
  term TEXT COLLATE "C" NOT NULL,
  product TEXT COLLATE "C" NOT NULL REFERENCES product (id),
  PRIMARY KEY (term, product)
);
CREATE INDEX product_term_of ON product_term (product, term);
