-- A host of the previous version fills the lists again, from the first event on.
DROP VIEW mortise_event_listed;
CREATE TABLE mortise_event_listed (position BIGINT NOT NULL);
INSERT INTO mortise_event_listed (position) VALUES (0);
