-- What people are told of in the app: one row for each conversation, person and reason, which the next news of that kind
-- makes new again. So a busy conversation is one line, not a hundred.
create table notifications (
    workspace_id    bigint      not null,
    conversation_id bigint      not null,
    person_id       bigint      not null,
    reason          text        not null check (reason in ('assigned', 'mentioned', 'replied', 'noted')),
    -- Who did it; nobody when it was the service.
    by_name         text,
    at              timestamptz not null,
    read_at         timestamptz,
    -- When a mail told of it.
    mailed_at       timestamptz,
    primary key (workspace_id, conversation_id, person_id, reason),
    foreign key (workspace_id, person_id) references people (workspace_id, id),
    foreign key (workspace_id, conversation_id) references conversations (workspace_id, id) on delete cascade
);
-- A person's list, newest first; those with one reason; what is unread.
create index notifications_newest on notifications (workspace_id, person_id, at desc, conversation_id desc, reason desc);
create index notifications_by_reason on notifications (workspace_id, person_id, reason, at desc, conversation_id desc);
create index notifications_unread on notifications (workspace_id, person_id, at desc) where read_at is null;

-- Mentions of earlier versions, whom nobody was told of in the app.
insert into notifications (workspace_id, conversation_id, person_id, reason, at, read_at)
select workspace_id, conversation_id, person_id, 'mentioned', max(at), max(at) from mentions group by 1, 2, 3;

-- Who hears of a conversation. Whoever stopped following does not begin again by taking part.
create table follows (
    workspace_id    bigint      not null,
    conversation_id bigint      not null,
    person_id       bigint      not null,
    following       boolean     not null,
    at              timestamptz not null,
    primary key (workspace_id, conversation_id, person_id),
    foreign key (workspace_id, person_id) references people (workspace_id, id),
    foreign key (workspace_id, conversation_id) references conversations (workspace_id, id) on delete cascade
);

-- What somebody wants to be told of and how, where it is not the usual: for one inbox, or for all (mailbox 0).
create table notification_choices (
    workspace_id bigint not null,
    person_id    bigint not null,
    mailbox_id   bigint not null,
    kind         text   not null check (kind in ('assigned', 'mentioned', 'following')),
    choice       text   not null check (choice in ('mail', 'app', 'off')),
    primary key (workspace_id, person_id, mailbox_id, kind),
    foreign key (workspace_id, person_id) references people (workspace_id, id)
);

-- When a person gets one mail about everything they have not read. The row is the timer.
create table notification_mail (
    workspace_id bigint not null,
    person_id    bigint not null,
    due_at       timestamptz,
    mailed_at    timestamptz,
    primary key (workspace_id, person_id),
    foreign key (workspace_id, person_id) references people (workspace_id, id)
);
create index notification_mail_due on notification_mail (due_at) where due_at is not null;
