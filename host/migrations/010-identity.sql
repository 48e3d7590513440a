-- Which database this is. The application remembers it in .app/identity.json and opens no other one.
CREATE TABLE mortise_identity (
  id TEXT NOT NULL PRIMARY KEY,
  one_row INTEGER NOT NULL DEFAULT 1 UNIQUE CHECK (one_row = 1)
);
