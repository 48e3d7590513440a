CREATE TABLE review (
  id TEXT PRIMARY KEY,
  owner TEXT NOT NULL,
  product TEXT NOT NULL,
  stars INTEGER NOT NULL
);

CREATE INDEX review_of_owner ON review (owner, stars, id);
CREATE INDEX review_of_product ON review (owner, product, stars, id);
