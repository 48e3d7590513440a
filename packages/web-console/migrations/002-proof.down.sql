DELETE FROM console_session;
ALTER TABLE console_session DROP COLUMN proof;
