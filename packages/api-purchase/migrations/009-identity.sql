-- Which product an item took stock of, as the contract `catalog` has it: another product may get its id. NULL: made
-- before products had identities, or without a catalogue.
ALTER TABLE purchase_item ADD COLUMN identity TEXT;
