ALTER TABLE purchase_item ADD FOREIGN KEY (purchase_seq) REFERENCES purchase (seq);
CREATE TRIGGER purchase_group_added AFTER INSERT ON purchase
FOR EACH ROW EXECUTE FUNCTION purchase_group_note();
