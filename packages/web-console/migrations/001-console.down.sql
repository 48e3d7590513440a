DROP TABLE console_change;
DROP TABLE console_plan;
DROP TABLE console_link;
DROP TABLE console_session;
