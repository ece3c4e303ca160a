-- What is worked on: conversations and everything on their timelines.

create table conversations (
    workspace_id    bigint      not null,
    id              bigint      not null,
    mailbox_id      bigint      not null,
    audience        bigint      not null,
    contact_name    text,
    contact_email   text,
    subject         text        not null check (char_length(subject) between 1 and 500),
    snippet         text        not null default '' check (char_length(snippet) <= 200),
    status          text        not null check (status in ('open', 'waiting', 'closed')),
    snoozed_until   timestamptz,
    -- What the list is cut by. A snooze that has run out still says 'snoozed' here until it is woken;
    -- the list reads those apart (conversations/list.rs).
    view            text        not null generated always as (
        case when snoozed_until is not null then 'snoozed' else status end) stored,
    announced_turn  text        check (announced_turn in ('ours', 'theirs', 'done')),
    assignee_type   text        check (assignee_type in ('user', 'agent')),
    assignee_id     bigint      not null default 0,
    topic           text,
    urgency         text        check (urgency in ('low', 'normal', 'high')),
    risk            text,
    risk_reasons    text[]      not null default '{}' check (cardinality(risk_reasons) <= 3),
    held_at         timestamptz,
    reference       text        check (reference ~ '^[a-z0-9_-]{1,40}$' and reference ~ '[0-9]'),
    created_at      timestamptz not null,
    last_message_at timestamptz not null,
    message_count   integer     not null default 0,
    -- The number of the newest timeline item: items of one instant keep the order they were written in.
    last_item       integer     not null default 0,
    primary key (workspace_id, id),
    foreign key (workspace_id, mailbox_id) references mailboxes (workspace_id, id),
    check (snoozed_until is null or status <> 'closed'),
    check ((assignee_id = 0) = (assignee_type is null)),
    check (risk is not null or (risk_reasons = '{}' and held_at is null))
) with (fillfactor = 85);

-- Every list is an equality prefix and then newest first; its cost does not grow with the workspace.
create index conversations_by_audience on conversations
    (workspace_id, audience, view, last_message_at desc, id desc);
create index conversations_by_mailbox on conversations
    (workspace_id, mailbox_id, view, last_message_at desc, id desc);
create index conversations_by_assignee on conversations
    (workspace_id, assignee_id, mailbox_id, view, last_message_at desc, id desc);
create index conversations_by_reference on conversations
    (workspace_id, reference, last_message_at desc, id desc) where reference is not null;
-- Snoozes that have run out. Not by audience: an index with more equalities would tempt the planner away
-- from this one, which holds only the few.
create index conversations_snoozed on conversations
    (workspace_id, snoozed_until) where snoozed_until is not null;

-- Mail. An inbound message has no status; an outbound one always has, and its times with it.
create table messages (
    workspace_id    bigint      not null,
    conversation_id bigint      not null,
    id              bigint      not null,
    mailbox_id      bigint      not null,
    item            integer     not null,
    at              timestamptz not null,
    direction       text        not null check (direction in ('inbound', 'outbound')),
    status          text        check (status in ('draft', 'scheduled', 'sending', 'sent', 'failed')),
    sends_at        timestamptz,
    sent_at         timestamptz,
    from_name       text,
    from_email      text        not null,
    -- The text people read (quoted history removed), never cut. The whole text is kept beside it when
    -- something was removed, because the removal is a guess.
    text            text        not null,
    whole_text      text,
    attachments     jsonb       not null default '[]',
    automatic       boolean     not null default false,
    rfc_message_id  text,
    -- Inbound only: the mail's own Message-ID and content as hashes, and its bytes in the blob store.
    id_hash         bigint,
    content_hash    bytea,
    raw_blob        text,
    primary key (workspace_id, conversation_id, id),
    foreign key (workspace_id, conversation_id) references conversations (workspace_id, id) on delete cascade,
    check ((direction = 'inbound') = (status is null)),
    check ((direction = 'inbound') = (content_hash is not null and id_hash is not null)),
    check (status <> 'scheduled' or sends_at is not null),
    check (status <> 'sending' or sends_at is not null),
    check (status <> 'sent' or sent_at is not null),
    check (sends_at is null or direction = 'outbound')
) with (fillfactor = 90);

-- The same mail delivered twice is one message. The same Message-ID with another content is another
-- message, found by the index's prefix and flagged.
create unique index messages_received_once on messages
    (workspace_id, mailbox_id, id_hash, content_hash) where direction = 'inbound';
create unique index messages_sent_as on messages
    (workspace_id, rfc_message_id) where direction = 'outbound' and rfc_message_id is not null;

create table notes (
    workspace_id    bigint      not null,
    conversation_id bigint      not null,
    id              bigint      not null,
    item            integer     not null,
    at              timestamptz not null,
    author          text        not null,
    body            text        not null,
    primary key (workspace_id, conversation_id, id),
    foreign key (workspace_id, conversation_id) references conversations (workspace_id, id) on delete cascade
);

create table timeline_events (
    workspace_id    bigint      not null,
    conversation_id bigint      not null,
    item            integer     not null,
    at              timestamptz not null,
    actor           text        not null,
    event           text        not null,
    data            jsonb       not null check (jsonb_typeof(data) = 'object'),
    primary key (workspace_id, conversation_id, item),
    foreign key (workspace_id, conversation_id) references conversations (workspace_id, id) on delete cascade
);

-- One vocabulary for a workspace; `folded` is what makes two spellings the same tag.
create table tags (
    workspace_id bigint  not null references workspaces,
    id           bigint  not null,
    name         text    not null check (char_length(name) between 1 and 40),
    folded       text    not null,
    in_sandbox   boolean not null default false,
    primary key (workspace_id, id),
    unique (workspace_id, folded)
);

create table conversation_tags (
    workspace_id    bigint not null,
    conversation_id bigint not null,
    tag_id          bigint not null,
    audience        bigint not null,
    primary key (workspace_id, conversation_id, tag_id),
    foreign key (workspace_id, conversation_id) references conversations (workspace_id, id) on delete cascade,
    foreign key (workspace_id, tag_id) references tags (workspace_id, id)
);
create index conversation_tags_by_tag on conversation_tags (workspace_id, tag_id);

-- Counts that would otherwise be counted row by row: open conversations of an inbox, conversations of a
-- tag. A change appends a row (no writer waits for another); the worker folds the rows into `counts`.
-- The triggers below are the only writers of changes, so a count cannot drift from what it counts.
create table counts (
    workspace_id bigint not null,
    what         text   not null check (what in ('open', 'tag')),
    subject_id   bigint not null,
    audience     bigint not null,
    n            bigint not null,
    -- By audience before subject: a reader wants all subjects of the few audiences it belongs to.
    primary key (workspace_id, what, audience, subject_id)
) with (fillfactor = 70);

create table count_changes (
    workspace_id bigint  not null,
    what         text    not null,
    subject_id   bigint  not null,
    audience     bigint  not null,
    change       integer not null
) with (autovacuum_vacuum_scale_factor = 0.01);
create index count_changes_by_workspace on count_changes (workspace_id);

create function count_open() returns trigger language plpgsql as $$
begin
    if tg_op <> 'INSERT' and old.view = 'open' then
        insert into count_changes values (old.workspace_id, 'open', old.mailbox_id, old.audience, -1);
    end if;
    if tg_op <> 'DELETE' and new.view = 'open' then
        insert into count_changes values (new.workspace_id, 'open', new.mailbox_id, new.audience, 1);
    end if;
    return null;
end
$$;
create trigger conversations_count_new after insert or delete on conversations
    for each row execute function count_open();
create trigger conversations_count_moved after update on conversations for each row
    when ((old.view = 'open' or new.view = 'open') and
          (old.view, old.mailbox_id, old.audience) is distinct from (new.view, new.mailbox_id, new.audience))
    execute function count_open();

create function count_tagged() returns trigger language plpgsql as $$
begin
    if tg_op <> 'INSERT' then
        insert into count_changes values (old.workspace_id, 'tag', old.tag_id, old.audience, -1);
    end if;
    if tg_op <> 'DELETE' then
        insert into count_changes values (new.workspace_id, 'tag', new.tag_id, new.audience, 1);
    end if;
    return null;
end
$$;
create trigger conversation_tags_count after insert or update or delete on conversation_tags
    for each row execute function count_tagged();

-- Full-text search. The words of a conversation are hashes of (workspace, word), so that the cost of a
-- word follows the workspace and not its neighbours. Mail only notes that a conversation has new words;
-- the worker, or the next search of that workspace, works the notes off.
create table conversation_words (
    workspace_id    bigint   not null,
    conversation_id bigint   not null,
    words           bigint[] not null,
    primary key (workspace_id, conversation_id),
    foreign key (workspace_id, conversation_id) references conversations (workspace_id, id) on delete cascade
);
create index conversation_words_any on conversation_words using gin (words);

create table unindexed_conversations (
    workspace_id    bigint      not null,
    conversation_id bigint      not null,
    since           timestamptz not null,
    primary key (workspace_id, conversation_id),
    foreign key (workspace_id, conversation_id) references conversations (workspace_id, id) on delete cascade
) with (autovacuum_vacuum_scale_factor = 0.01);
create index unindexed_newest on unindexed_conversations (workspace_id, since desc, conversation_id);
