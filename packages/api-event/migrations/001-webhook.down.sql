DROP TABLE webhook;
