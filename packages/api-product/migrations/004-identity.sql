-- What a product is, beside its id: one that gets the id of a deleted product has another. NULL: it was made before
-- products had identities, and its id is its identity.
ALTER TABLE product ADD COLUMN identity TEXT;
