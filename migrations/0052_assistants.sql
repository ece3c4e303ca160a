-- Assistants: mail that waits to be sorted, what was said of it and by whom, what a workspace chose, what models cost.

-- Mail that nobody has sorted yet, noted in the transaction that stores it; never of the sandbox. It names nothing but the
-- message, and no foreign key looks at it, because every mail pays for it: a note whose message is gone is thrown away.
create table unsorted_messages (
    workspace_id bigint      not null,
    message_id   bigint      not null,
    since        timestamptz not null,
    tries        smallint    not null default 0,
    retry_at     timestamptz,
    primary key (workspace_id, message_id),
    check ((tries = 0) = (retry_at is null))
) with (autovacuum_vacuum_scale_factor = 0.01);

-- Who said topic and urgency, and when: the name of an engine, or a person. What a person said no assistant writes over.
alter table conversations
    add column topic_by       text,
    add column topic_at       timestamptz,
    add column topic_person   bigint,
    add column urgency_by     text,
    add column urgency_at     timestamptz,
    add column urgency_person bigint;

-- What a workspace chose. Without a row: sorting and reading by rules, no drafting, no model.
create table assistant_settings (
    workspace_id   bigint      not null primary key,
    sorting        text        not null default 'rules' check (sorting in ('off', 'rules', 'model')),
    drafting       text        not null default 'off' check (drafting in ('off', 'model')),
    reading        text        not null default 'rules' check (reading in ('off', 'rules', 'model')),
    -- Its own model; the operator's when there is no address. The key is sealed.
    base_url       text,
    model          text,
    key            bytea,
    -- Millionths of the currency for a million tokens, so that small prices stay exact.
    price_in       bigint      not null default 0 check (price_in >= 0),
    price_out      bigint      not null default 0 check (price_out >= 0),
    -- Millionths a month, and calls a day.
    monthly_limit  bigint      not null default 0 check (monthly_limit >= 0),
    daily_calls    integer     not null default 500 check (daily_calls >= 0),
    -- An owner agreed that mail of these inboxes is shown to this model: `agreed_to` is its address and name.
    agreed_by      bigint,
    agreed_at      timestamptz,
    agreed_to      text,
    agreed_inboxes bigint[]    not null default '{}',
    stopped_at     timestamptz,
    stopped_by     text,
    -- The month in which owners were told that the limit is reached.
    told_month     date,
    -- Its model did not answer: nothing is asked before.
    paused_until   timestamptz,
    -- Topics of its own, in their order; the usual ones when there are none.
    topics         jsonb,
    changed_at     timestamptz not null,
    foreign key (workspace_id, agreed_by) references people (workspace_id, id),
    check ((base_url is null) = (model is null)),
    check ((agreed_by is null) = (agreed_at is null) and (agreed_by is null) = (agreed_to is null)),
    check ((stopped_at is null) = (stopped_by is null))
);

-- Mail and documents that a model is to be asked about.
create table assistant_tasks (
    workspace_id bigint      not null,
    -- A message, or the document that is read.
    about        bigint      not null,
    kind         text        not null check (kind in ('sort', 'draft', 'read')),
    since        timestamptz not null,
    due_at       timestamptz not null,
    claim        integer     not null default 0,
    tries        smallint    not null default 0,
    primary key (workspace_id, about, kind)
);
create index assistant_tasks_due on assistant_tasks (kind, workspace_id, due_at);
create index assistant_tasks_since on assistant_tasks (since);

-- What people said instead of an engine: the one thing that is learned from. The words are read from the mail when they
-- are needed, so what is erased is forgotten here too.
create table corrections (
    workspace_id bigint      not null,
    -- The mail it was said of.
    message_id   bigint      not null,
    field        text        not null check (field in ('topic', 'urgency')),
    -- What an engine had said, and which one.
    before       text,
    engine       text,
    after        text,
    person_id    bigint      not null,
    at           timestamptz not null,
    primary key (workspace_id, message_id, field),
    foreign key (workspace_id, message_id) references messages (workspace_id, id) on delete cascade deferrable,
    foreign key (workspace_id, person_id) references people (workspace_id, id)
);
create index corrections_newest on corrections (workspace_id, field, at desc);

-- What was learned, a version each time; the newest is used.
create table learned_topics (
    workspace_id bigint      not null,
    version      integer     not null,
    trained_at   timestamptz not null,
    -- The newest correction it knows.
    learned_to   timestamptz not null,
    examples     integer     not null,
    -- For each topic: how many corrections, what was claimed and right of what it had not seen, from where on it is sure.
    scores       jsonb       not null,
    weights      bytea       not null,
    primary key (workspace_id, version)
);

-- Calls of models, without a word of mail. Kept for 30 days.
create table assistant_runs (
    workspace_id bigint      not null,
    at           timestamptz not null,
    id           bigint      not null,
    assistant    text        not null check (assistant in ('sort', 'draft', 'read', 'test')),
    engine       text        not null,
    prompt       text        not null,
    input_hash   bytea       not null,
    tokens_in    integer     not null,
    tokens_out   integer     not null,
    cost         bigint      not null,
    milliseconds integer     not null,
    outcome      text        not null,
    primary key (workspace_id, at, id)
);
create index assistant_runs_at on assistant_runs (at);

-- What rules and learned words did by day: how many mails, and of how many they said a topic.
create table assistant_days (
    workspace_id bigint  not null,
    day          date    not null,
    engine       text    not null,
    mails        integer not null default 0,
    claimed      integer not null default 0,
    primary key (workspace_id, day, engine)
);
create index assistant_days_day on assistant_days (day);

-- Money of a month and calls of a day. The worst case of a call is written before it is made and put right after, so a
-- node that dies in between has spent it.
create table assistant_spend (
    workspace_id bigint  not null,
    month        date    not null,
    spent        bigint  not null default 0,
    calls        integer not null default 0,
    primary key (workspace_id, month)
);
create table assistant_calls (
    workspace_id bigint  not null,
    day          date    not null,
    calls        integer not null default 0,
    primary key (workspace_id, day)
);
create index assistant_calls_day on assistant_calls (day);

-- Drafts of the drafting assistant: the mail each answers, at most one draft for a mail, and what it relied on.
create table assistant_drafts (
    workspace_id bigint      not null,
    answers      bigint      not null,
    message_id   bigint      not null,
    model        text        not null,
    relied_on    jsonb       not null,
    at           timestamptz not null,
    primary key (workspace_id, answers),
    foreign key (workspace_id, answers) references messages (workspace_id, id) on delete cascade deferrable
);
create index assistant_drafts_of_message on assistant_drafts (workspace_id, message_id);
