-- Search is indexed by message, so that a conversation with thousands of mails costs only what its new ones cost.
--
-- The words of a conversation stand in its row of conversation_words until that is full. What comes after goes to
-- segments beside it: a GIN index takes all words of a row in again when the row changes, so no row may grow without
-- end. The newest mail's time stands with the words, so that the newest of many hits are known without asking for
-- each conversation; where an older version wrote the row it is null, and the conversation is asked.
alter table conversation_words
    add column segments integer not null default 0,
    add column last_message_at timestamptz;
alter table conversation_words set (fillfactor = 90);

create table conversation_words_segments (
    workspace_id    bigint   not null,
    conversation_id bigint   not null,
    segment         integer  not null,
    words           bigint[] not null,
    primary key (workspace_id, conversation_id, segment),
    foreign key (workspace_id, conversation_id) references conversations (workspace_id, id) on delete cascade
);

-- A search reads the whole list of what a GIN index has not folded in yet: it must stay short.
create index conversation_words_segments_any on conversation_words_segments using gin (words)
    with (gin_pending_list_limit = 256);
alter index conversation_words_any set (gin_pending_list_limit = 256);

-- Messages whose words are to be added. What failed is tried again later, alone, and stands in nobody's way.
create table unindexed_messages (
    workspace_id    bigint      not null,
    conversation_id bigint      not null,
    message_id      bigint      not null,
    since           timestamptz not null,
    tries           integer     not null default 0,
    retry_at        timestamptz,
    primary key (workspace_id, conversation_id, message_id),
    foreign key (workspace_id, conversation_id) references conversations (workspace_id, id) on delete cascade,
    check ((tries = 0) = (retry_at is null))
) with (autovacuum_vacuum_scale_factor = 0.01);
create index unindexed_messages_newest on unindexed_messages (workspace_id, since desc, message_id desc) where tries = 0;
create index unindexed_messages_failed on unindexed_messages (workspace_id, retry_at) where tries > 0;

-- A note of a whole conversation means from now on: begin its words anew, because some have to go. Its messages are
-- noted, up to so many at a time; `noted_to` is the last one that was.
alter table unindexed_conversations
    add column noted_to bigint,
    add column tries integer not null default 0,
    add column retry_at timestamptz,
    add check ((tries = 0) = (retry_at is null));

-- How much live mail came from outside on a day: of one sender, of one network, into one conversation. Unlogged: after
-- a crash of PostgreSQL the day begins anew, which a cap against floods allows.
create unlogged table mail_received (
    workspace_id bigint  not null,
    mailbox_id   bigint  not null,
    day          date    not null,
    what         text    not null check (what in ('sender', 'network', 'conversation')),
    -- The conversation's id, or a hash of the address or network.
    subject      bigint  not null,
    mails        integer not null,
    bytes        bigint  not null,
    -- The conversation's timeline says that the day's cap was reached.
    told         boolean not null default false,
    primary key (workspace_id, mailbox_id, day, what, subject)
) with (fillfactor = 50);
create index mail_received_days on mail_received (day);
