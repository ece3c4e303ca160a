-- What happened, for those who listen from outside. A row is written in the transaction of the change it
-- tells of and never changed: `body` is the very text that every delivery sends.

create table events (
    workspace_id    bigint      not null references workspaces,
    id              bigint      not null,
    kind            text        not null,
    livemode        boolean     not null,
    audience        bigint      not null,
    conversation_id bigint,
    created_at      timestamptz not null,
    body            text        not null,
    primary key (workspace_id, id)
);
