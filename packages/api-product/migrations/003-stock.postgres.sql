-- Room on each page for the next version of a row: a sale then writes no index, which other purchases read.
ALTER TABLE product SET (fillfactor = 70);
