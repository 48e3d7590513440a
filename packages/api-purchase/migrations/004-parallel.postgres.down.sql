ALTER TABLE purchase_item ADD FOREIGN KEY (purchase_seq) REFERENCES purchase (seq);
