-- The lists of events, which grow behind the events: see host/src/events/event-lists.ts. '' stands for any.
CREATE TABLE mortise_event_list (
  subject TEXT NOT NULL,
  owner TEXT NOT NULL,
  type TEXT NOT NULL,
  position BIGINT NOT NULL,
  PRIMARY KEY (subject, owner, type, position)
);

-- Subjects and owners with more events than a reader filters one by one.
CREATE TABLE mortise_event_large (
  subject TEXT NOT NULL,
  owner TEXT NOT NULL,
  PRIMARY KEY (subject, owner)
);

-- One row: all events up to this position are on their lists.
CREATE TABLE mortise_event_listed (position BIGINT NOT NULL);
INSERT INTO mortise_event_listed (position) VALUES (0);
