DROP TABLE mortise_event_new;
DROP TABLE mortise_event;
DROP TABLE mortise_audit;
