CREATE TABLE sold (
  product TEXT PRIMARY KEY,
  quantity BIGINT NOT NULL
);

CREATE INDEX sold_by_quantity ON sold (quantity);
