-- no-transaction
-- Every note, tag and message moves last_item_at, and with an index on it every one of them was entered into all indexes of
-- conversations anew. Retention finds its conversations by the last message, as lists do.
drop index concurrently if exists conversations_closed;
