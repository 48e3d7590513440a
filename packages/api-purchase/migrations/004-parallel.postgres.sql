-- Purchases that are made side by side do not conflict: see `insert` of the SDK's RankedList. One statement inserts a
-- purchase with its items, and nothing deletes a purchase.
ALTER TABLE purchase_item DROP CONSTRAINT purchase_item_purchase_seq_fkey;
