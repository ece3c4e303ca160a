-- What happens later: sending and its tries, addresses that must not be written to again, the sandbox's
-- outgoing mail and its answers, reminders, and what a revoked key leaves behind. Every due time is a column
-- of the row it belongs to; whoever takes a row moves that time on (its lease) and counts `claim` up, and
-- only the newest claim may write what came of it.

-- A claim takes rows of several workspaces at once, so it asks instead of waiting: a workspace that is being
-- moved is passed over. Volatile, so that the fence is read after the lock is held.
create function try_enter_workspace(entered bigint) returns boolean language plpgsql as $$
begin
    return pg_try_advisory_xact_lock_shared(entered)
        and exists (select from workspaces where id = entered and fenced_at is null);
end
$$;
create index workspaces_fenced on workspaces (id) where fenced_at is not null;

-- The newest item's time. Nodes' clocks differ by a little; who comes later to a conversation is dated later.
alter table conversations add column last_item_at timestamptz not null default '2020-01-01';

alter table workspaces
    add column time_zone   text not null default 'UTC',
    -- Up to this day, files that no row names have been taken away.
    add column blobs_swept date;

alter table messages
    -- When the worker may take it next: its time to leave, the end of a lease, or the next try.
    add column due_at   timestamptz,
    add column claim    integer  not null default 0,
    add column tries    smallint not null default 0,
    -- What the author wrote, when a checklist of ours stands under it in `text`.
    add column written  text,
    add constraint messages_due_while_on_its_way check
        ((status in ('scheduled', 'sending')) is true = (due_at is not null));

drop index messages_due;
create index messages_due on messages (due_at) where status in ('scheduled', 'sending');
-- What a revoked key must not send any more.
create index messages_scheduled_by on messages (workspace_id, author_id) where status = 'scheduled';
-- A message by its own id: people, bounces and files name it without its conversation.
create unique index messages_by_id on messages (workspace_id, id);

-- Addresses that complained or do not exist. Mail to them fails at once.
create table suppressed_addresses (
    workspace_id bigint      not null references workspaces,
    livemode     boolean     not null,
    address      text        not null check (address = lower(address)),
    reason       text        not null check (reason in ('bounce', 'complaint')),
    at           timestamptz not null,
    primary key (workspace_id, livemode, address)
);

-- What left in the sandbox: its transport writes a row for each mail it accepts, as a relay would, before
-- the message is marked as sent. Kept by day, like events.
create table sandbox_mail (
    workspace_id    bigint      not null,
    id              bigint      not null,
    conversation_id bigint      not null,
    message_id      bigint      not null,
    rfc_message_id  text        not null,
    recipient       text        not null,
    at              timestamptz not null,
    primary key (workspace_id, id)
) partition by range (id);
create table sandbox_mail_default partition of sandbox_mail default;

-- A simulated customer who will write back.
create table sandbox_answers (
    workspace_id    bigint      not null,
    message_id      bigint      not null,
    conversation_id bigint      not null,
    kind            text        not null check (kind in ('reply', 'docs', 'ooo')),
    due_at          timestamptz not null,
    claim           integer     not null default 0,
    primary key (workspace_id, message_id),
    foreign key (workspace_id, conversation_id) references conversations (workspace_id, id) on delete cascade
) with (fillfactor = 70);
create index sandbox_answers_due on sandbox_answers (due_at);

-- A discarded draft leaves its request behind as cancelled. An open request reminds on days 2, 4 and 7.
alter table document_requests
    drop constraint document_requests_workspace_id_conversation_id_message_id_fkey,
    alter column message_id drop not null,
    add foreign key (workspace_id, conversation_id, message_id)
        references messages (workspace_id, conversation_id, id) on delete set null (message_id),
    add foreign key (workspace_id, conversation_id) references conversations (workspace_id, id) on delete cascade,
    add column remind_at timestamptz,
    add column reminders smallint not null default 0 check (reminders between 0 and 3),
    add constraint document_requests_remind_while_open check (remind_at is null or state = 'open');
create index document_requests_remind on document_requests (remind_at) where remind_at is not null;

-- A revoked agent gives back the conversations it holds; this is who still has to.
alter table agents
    add column released_at timestamptz,
    add constraint agents_released_after_revoked check (released_at is null or revoked_at is not null);
create index agents_unreleased on agents (revoked_at) where revoked_at is not null and released_at is null;

-- How long a count change has been waiting, for the worker's lag. The database's own time: it decides nothing.
alter table count_changes add column at timestamptz not null default now();
