-- How far each module has got with the events that it reacts to, and which host is at it, until when. The time is the
-- database's.
CREATE TABLE mortise_subscription (
  name TEXT NOT NULL PRIMARY KEY, -- the id of the module
  position BIGINT NOT NULL, -- every event up to here is done, or is a row below
  holder TEXT NOT NULL,
  held_until BIGINT NOT NULL
);

-- Events on which a module has failed, and later ones of the same subject, which wait for them. An event is whole
-- here, since it may be kept for longer than the others are.
CREATE TABLE mortise_reaction (
  subscription TEXT NOT NULL,
  position BIGINT NOT NULL,
  event_id TEXT NOT NULL,
  subject TEXT NOT NULL,
  event TEXT NOT NULL, -- JSON
  attempts INTEGER NOT NULL,
  next_at BIGINT, -- NULL: it waits for an earlier one, or is dead
  state TEXT NOT NULL, -- waiting, dead
  error TEXT,
  PRIMARY KEY (subscription, position)
);
CREATE INDEX mortise_reaction_by_time ON mortise_reaction (subscription, next_at);
CREATE INDEX mortise_reaction_by_subject ON mortise_reaction (subscription, subject, position);
