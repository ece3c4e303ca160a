-- What agents and people write: replies with their author, mentions in notes, document requests, app mail.

-- Who wrote an outbound message, what it says to the person who approves it, and the request it carries.
alter table messages
    add column author_type text check (author_type in ('user', 'agent')),
    add column author_id   bigint,
    add column summary     text check (char_length(summary) <= 500),
    -- Addresses in To and Cc that are not ours: whoever was written to may answer.
    add column also_to     text[] not null default '{}',
    add constraint messages_author check ((author_type is null) = (author_id is null)),
    add constraint messages_inbound_has_no_author check (direction = 'outbound' or author_type is null);

-- Messages that wait for their time. The row is the timer.
create index messages_due on messages (sends_at) where status = 'scheduled';

-- People whose first name was mentioned in a note, until they have seen it.
create table mentions (
    workspace_id    bigint      not null,
    person_id       bigint      not null,
    note_id         bigint      not null,
    conversation_id bigint      not null,
    at              timestamptz not null,
    seen_at         timestamptz,
    primary key (workspace_id, person_id, note_id),
    foreign key (workspace_id, person_id) references people (workspace_id, id),
    foreign key (workspace_id, conversation_id, note_id)
        references notes (workspace_id, conversation_id, id) on delete cascade
);

-- Documents asked of a customer. The link is made from the id and the generation, and is not stored.
create table document_requests (
    workspace_id    bigint      not null,
    id              bigint      not null,
    conversation_id bigint      not null,
    message_id      bigint      not null,
    state           text        not null check (state in ('draft', 'open', 'completed', 'cancelled', 'expired')),
    due_date        date,
    items           jsonb       not null check (jsonb_typeof(items) = 'array' and jsonb_array_length(items) between 1 and 20),
    link_generation integer     not null default 0,
    created_at      timestamptz not null,
    opened_at       timestamptz,
    ended_at        timestamptz,
    primary key (workspace_id, id),
    foreign key (workspace_id, conversation_id, message_id)
        references messages (workspace_id, conversation_id, id) on delete cascade,
    check (state <> 'open' or opened_at is not null),
    check ((state in ('completed', 'cancelled', 'expired')) = (ended_at is not null))
);
create unique index document_requests_of_message on document_requests (workspace_id, conversation_id, message_id);

-- What an app sent by itself, so that the answer can be filed under the app's reference. Live and sandbox
-- are apart. A record that was answered belongs to its conversation and is never forgotten.
create table app_mail (
    workspace_id    bigint      not null references workspaces,
    livemode        boolean     not null,
    message_id      text        not null check (char_length(message_id) between 3 and 998),
    reference       text        not null check (reference ~ '^[a-z0-9_-]{1,40}$' and reference ~ '[0-9]'),
    recipients      text[]      not null check (cardinality(recipients) between 1 and 50),
    subject         text        not null check (char_length(subject) <= 998),
    body_text       text,
    body_html       text,
    recorded_at     timestamptz not null,
    conversation_id bigint,
    primary key (workspace_id, livemode, message_id),
    foreign key (workspace_id, conversation_id) references conversations (workspace_id, id) on delete cascade
);
create unique index app_mail_of_conversation on app_mail (workspace_id, conversation_id) where conversation_id is not null;
-- The oldest unanswered records of a workspace go first; the worker finds those past their time.
create index app_mail_oldest on app_mail (workspace_id, livemode, recorded_at) where conversation_id is null;
create index app_mail_forgotten on app_mail (recorded_at) where conversation_id is null;

-- How many unanswered records there are, so that the cap needs no counting. Kept like every count.
alter table counts drop constraint counts_what_check;
alter table counts add constraint counts_what_check check (what in ('open', 'tag', 'app-mail'));

create function count_app_mail() returns trigger language plpgsql as $$
begin
    if tg_op <> 'INSERT' and old.conversation_id is null then
        insert into count_changes values (old.workspace_id, 'app-mail', old.livemode::int, 0, -1);
    end if;
    if tg_op <> 'DELETE' and new.conversation_id is null then
        insert into count_changes values (new.workspace_id, 'app-mail', new.livemode::int, 0, 1);
    end if;
    return null;
end
$$;
create trigger app_mail_count after insert or delete on app_mail
    for each row execute function count_app_mail();
create trigger app_mail_count_answered after update on app_mail for each row
    when ((old.conversation_id is null) <> (new.conversation_id is null))
    execute function count_app_mail();

-- Snoozes by due time, over all workspaces: what the worker wakes.
create index conversations_wake on conversations (snoozed_until) where snoozed_until is not null;
