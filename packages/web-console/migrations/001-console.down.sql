DROP TABLE console_link;
DROP TABLE console_session;
