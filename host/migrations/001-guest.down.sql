DROP TABLE mortise_guest;
