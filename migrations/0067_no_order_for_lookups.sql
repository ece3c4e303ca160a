-- no-transaction
-- Before the first statistics it looked as good as the key to whoever looks up one address, and read everybody. 0068 makes it for
-- those who say that they want the order.
drop index concurrently if exists contacts_by_since;
