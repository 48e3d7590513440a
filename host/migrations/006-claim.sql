-- Guests whom a user has claimed: the token is nobody's any more.
ALTER TABLE mortise_guest ADD COLUMN claimed_by TEXT;

-- What a module that did not serve at the time is still to hand over, from one caller to another.
CREATE TABLE mortise_claim (
  module TEXT NOT NULL,
  guest TEXT NOT NULL,
  claimed_by TEXT NOT NULL,
  PRIMARY KEY (module, guest)
);
