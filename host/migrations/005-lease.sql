-- Who of several hosts does what only one is to do, until when. The time is the database's.
CREATE TABLE mortise_lease (
  name TEXT NOT NULL PRIMARY KEY,
  holder TEXT NOT NULL,
  expires_at BIGINT NOT NULL
);

CREATE INDEX mortise_guest_by_expiry ON mortise_guest (expires_at);
