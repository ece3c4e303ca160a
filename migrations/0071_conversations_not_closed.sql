-- no-transaction
-- The word index knows mail of all times, most of which is closed, and each hit was looked up to see that it is in no other view:
-- two pages somewhere on the disk. This index has only what is not closed, and stays in memory.
create index concurrently if not exists conversations_not_closed on conversations (workspace_id, id) where view <> 'closed';
