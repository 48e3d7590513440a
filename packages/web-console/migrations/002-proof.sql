-- What verified the token of the sign-in: a session without it has ended. The scopes are a JSON list now.
ALTER TABLE console_session ADD COLUMN proof TEXT;
