-- What a purchase was sold for, with a catalogue: amounts in minor units. An item with `taken` has taken stock, which
-- is given back at most once.
ALTER TABLE purchase ADD COLUMN total BIGINT;
ALTER TABLE purchase ADD COLUMN currency TEXT;
ALTER TABLE purchase ADD COLUMN note TEXT;
ALTER TABLE purchase ADD COLUMN reference TEXT;
ALTER TABLE purchase_item ADD COLUMN name TEXT;
ALTER TABLE purchase_item ADD COLUMN unit_price BIGINT;
ALTER TABLE purchase_item ADD COLUMN taken INTEGER NOT NULL DEFAULT 0;

-- Purchases whose stock is given back as soon as there is a catalogue again.
CREATE TABLE purchase_return (purchase_seq BIGINT NOT NULL PRIMARY KEY REFERENCES purchase (seq));
