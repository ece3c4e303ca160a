-- no-transaction
-- Closed conversations of an inbox, the longest untouched first: what retention looks at.
create index concurrently if not exists conversations_closed on conversations (workspace_id, mailbox_id, last_item_at)
    where status = 'closed';
