-- What an inbox answers by itself.
create table auto_replies (
    workspace_id bigint      not null,
    mailbox_id   bigint      not null,
    is_on        boolean     not null,
    -- Always, or only outside the hours.
    outside      boolean     not null,
    -- Empty: that of the mail it answers.
    subject      text        not null check (char_length(subject) <= 200),
    body         text        not null check (char_length(body) <= 5000),
    -- From Monday on: minutes of the day in the workspace's zone, [540, 1020], or null when closed.
    hours        jsonb       not null,
    changed_at   timestamptz not null,
    primary key (workspace_id, mailbox_id),
    foreign key (workspace_id, mailbox_id) references mailboxes (workspace_id, id)
);

-- Whom an inbox answered by itself, and when last (RFC 3834: no more than once in some time). The row is what two mails of
-- one sender that come at once wait for.
create table auto_replied (
    workspace_id bigint      not null,
    mailbox_id   bigint      not null,
    address      text        not null check (address = lower(address)),
    at           timestamptz not null,
    primary key (workspace_id, mailbox_id, address),
    foreign key (workspace_id, mailbox_id) references mailboxes (workspace_id, id)
);
create index auto_replied_by_time on auto_replied (at);
