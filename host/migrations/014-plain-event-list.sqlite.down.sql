-- A host of the previous version fills them again, from the first event on.
CREATE TABLE mortise_event_list (
  subject TEXT NOT NULL,
  owner TEXT NOT NULL,
  type TEXT NOT NULL,
  position BIGINT NOT NULL,
  PRIMARY KEY (subject, owner, type, position)
) WITHOUT ROWID;

-- Subjects and owners with more events than a reader filters one by one.
CREATE TABLE mortise_event_large (
  subject TEXT NOT NULL,
  owner TEXT NOT NULL,
  PRIMARY KEY (subject, owner)
) WITHOUT ROWID;

-- One row: all events up to this position are on their lists.
CREATE TABLE mortise_event_listed (position BIGINT NOT NULL);
INSERT INTO mortise_event_listed (position) VALUES (0);
