-- Events are read by their position, or by owner and position.
DROP TABLE mortise_event_listed;
DROP TABLE mortise_event_large;
DROP TABLE mortise_event_list;
