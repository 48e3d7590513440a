DROP TABLE mortise_rate;
