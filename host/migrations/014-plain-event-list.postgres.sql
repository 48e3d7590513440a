-- Events are read by their position, or by owner and position. Hosts of the previous version may still run: they find
-- empty lists that end at position 0, cannot extend them, and read the events themselves. The next version drops these.
TRUNCATE mortise_event_list, mortise_event_large;
DROP TABLE mortise_event_listed;
CREATE VIEW mortise_event_listed AS SELECT CAST(0 AS BIGINT) AS position;
