-- no-transaction
drop index concurrently if exists contacts_unindexed;
