CREATE TABLE sold (
  product TEXT PRIMARY KEY,
  quantity BIGINT NOT NULL
);
