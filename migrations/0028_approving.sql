-- Drafts that wait for a person, and mail that is about to leave.

-- What was drafted before a person changed it, and who changed it last; who let a draft go, and when. The version before
-- this one writes none of them: such a message reads as unchanged, and as let go when it was written.
alter table messages
    add column drafted_body text,
    add column edited_by    bigint,
    add column edited_at    timestamptz,
    add column approved_by  bigint,
    add column approved_at  timestamptz;
do $$
begin
    alter table messages alter column drafted_body set compression lz4;
exception when feature_not_supported then
    null;
end
$$;

-- Each list of an inbox in its order. Few messages are ever in one of these, and a message leaves it again.
create index messages_to_approve on messages (workspace_id, mailbox_id, at, id)
    where status = 'draft' and author_type is distinct from 'user';
create index messages_drafted_by_people on messages (workspace_id, mailbox_id, at, id)
    where status = 'draft' and author_type = 'user';
create index messages_leaving on messages (workspace_id, mailbox_id, status, sends_at, id)
    where status in ('scheduled', 'sending');
create index messages_failed on messages (workspace_id, mailbox_id, at, id) where status = 'failed';
