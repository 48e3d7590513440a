DROP TABLE webhook_delivery;
