-- The discounts, taxes and fees in the total: JSON of a list. NULL without a module for them.
ALTER TABLE purchase ADD COLUMN adjustments TEXT;
