-- Purchases that are made side by side do not conflict: see `insert` of the SDK's RankedList. One statement inserts a
-- purchase and its items, and notes it for its owner. Nothing deletes a purchase.
ALTER TABLE purchase_item DROP CONSTRAINT purchase_item_purchase_seq_fkey;
DROP TRIGGER purchase_group_added ON purchase;
