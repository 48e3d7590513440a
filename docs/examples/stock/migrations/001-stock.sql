CREATE TABLE stock (
  product TEXT NOT NULL PRIMARY KEY,
  quantity BIGINT NOT NULL
);
CREATE TABLE stock_import (
  id TEXT NOT NULL PRIMARY KEY,
  lines BIGINT NOT NULL -- stored so far
);
