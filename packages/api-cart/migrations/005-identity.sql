-- Which product a line means, as the contract `catalog` has it: another product may get its id. NULL: the line is from
-- before products had identities, or from a time without a catalogue, and means the product with the id.
ALTER TABLE cart_item ADD COLUMN identity TEXT;
ALTER TABLE cart_reservation ADD COLUMN identity TEXT;
