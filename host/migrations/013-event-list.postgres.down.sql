DROP TABLE mortise_event_listed;
DROP TABLE mortise_event_large;
DROP TABLE mortise_event_list;
