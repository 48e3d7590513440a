DROP TABLE mortise_job;
