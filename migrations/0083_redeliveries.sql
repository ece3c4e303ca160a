-- Sending again all that failed at a webhook: the log is read and the events are queued in steps, so it may be as long as it is.
-- One at a time for a webhook, so nothing is sent twice because somebody asked twice.
create table redeliveries (
    workspace_id bigint      not null,
    webhook_id   bigint      not null,
    asked_at     timestamptz not null,
    -- Also what was not sent because the webhook was stopped.
    skipped      boolean     not null,
    -- The log is read up to this number.
    read_to      bigint      not null,
    queued       integer     not null default 0,
    primary key (workspace_id, webhook_id),
    foreign key (workspace_id, webhook_id) references webhooks (workspace_id, id) on delete cascade
);

-- What failed and was not delivered later, as far as the log is read.
create table failed_events (
    workspace_id bigint not null,
    webhook_id   bigint not null,
    event_id     bigint not null,
    kind         text   not null,
    primary key (workspace_id, webhook_id, event_id)
);
