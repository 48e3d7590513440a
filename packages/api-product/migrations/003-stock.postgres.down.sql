ALTER TABLE product RESET (fillfactor);
