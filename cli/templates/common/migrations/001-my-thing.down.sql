DROP TABLE my_thing;
