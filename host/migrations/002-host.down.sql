DROP TABLE mortise_host;
