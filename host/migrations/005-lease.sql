-- Who of several hosts does what only one is to do, until when. The time is the database's.
CREATE TABLE mortise_lease (
  name TEXT NOT NULL PRIMARY KEY,
  holder TEXT NOT NULL,
  expires_at BIGINT NOT NULL
);

-- The day of expires_at since the epoch. An index on expires_at itself would be written whenever a guest writes.
ALTER TABLE mortise_guest ADD COLUMN expiry_day BIGINT NOT NULL DEFAULT 0;
UPDATE mortise_guest SET expiry_day = expires_at / 86400000;
CREATE INDEX mortise_guest_by_expiry_day ON mortise_guest (expiry_day);
