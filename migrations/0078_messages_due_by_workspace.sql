-- no-transaction
-- Messages that are due are claimed in turns, as notices are (0077).
create index concurrently if not exists messages_due_by_workspace on messages (sandbox, workspace_id, due_at)
    where status in ('scheduled', 'sending');
