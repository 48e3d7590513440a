DROP TABLE tally;
