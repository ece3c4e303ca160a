-- Webhooks: who listens, what waits to be delivered, and the log of what came of it.
--
-- An event becomes deliveries in two steps. The transaction of the change writes the event and a note in
-- unfanned_events; the worker turns notes into one delivery for each webhook that listens. A note or a
-- delivery is done when its row is gone, never because a counter has passed it: transactions commit in
-- another order than their ids were made.

create table unfanned_events (
    workspace_id bigint  not null,
    event_id     bigint  not null,
    kind         text    not null,
    livemode     boolean not null,
    audience     bigint  not null,
    primary key (workspace_id, event_id)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000, vacuum_truncate = off);

-- audience: the one audience whose events a webhook hears, as inboxes have it (0 the team, -1 the sandbox,
-- else a person). A private test webhook hears nobody: the sandbox is not a private inbox.
create table webhooks (
    workspace_id bigint      not null references workspaces,
    id           bigint      not null,
    maker_id     bigint      not null,
    livemode     boolean     not null,
    scope        text        not null check (scope in ('team', 'private')),
    audience     bigint      not null generated always as (
        case when scope = 'private' then maker_id when livemode then 0 else -1 end) stored,
    url          text        not null check (char_length(url) <= 2048),
    -- Kinds of event it wants; null for all, also those that are still to come.
    kinds        text[]      check (cardinality(kinds) > 0),
    state        text        not null default 'active' check (state in ('active', 'paused', 'off')),
    -- Counts how often it was stopped. A delivery of an earlier run is not sent after a resume.
    run          integer     not null default 0,
    -- Encrypted with a key made from the server's secret key. The old one signs too for a day after a rotation.
    secret       bytea       not null,
    old_secret   bytea,
    rotated_at   timestamptz,
    created_at   timestamptz not null,
    primary key (workspace_id, id),
    foreign key (workspace_id, maker_id) references people (workspace_id, id),
    check ((old_secret is null) = (rotated_at is null))
);
create index webhooks_hearing on webhooks (workspace_id, livemode, audience);

-- One lane for each webhook: whoever holds it delivers for this webhook, and nobody else does. So a claim
-- looks at webhooks, not at deliveries, and a webhook with half a million of them is one row among others.
-- `lease` counts the claims; a holder whose lease ran out and was taken by another writes nothing.
create table webhook_lanes (
    workspace_id  bigint      not null,
    webhook_id    bigint      not null,
    -- When somebody should look at it next; null while nothing waits.
    next_due      timestamptz,
    lease         integer     not null default 0,
    leased_until  timestamptz,
    -- The first failure since the last success.
    failing_since timestamptz,
    primary key (workspace_id, webhook_id),
    foreign key (workspace_id, webhook_id) references webhooks (workspace_id, id) on delete cascade
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
create index webhook_lanes_due on webhook_lanes (next_due) where next_due is not null;

-- What waits. `tries` keeps what became of earlier tries; with the last one it moves to the log. No foreign
-- key: the check of each row would cost as much as the row.
create table deliveries (
    workspace_id bigint      not null,
    webhook_id   bigint      not null,
    event_id     bigint      not null,
    kind         text        not null,
    due_at       timestamptz not null,
    run          integer     not null,
    -- A test that somebody asked for: tried once even while the webhook is stopped.
    asked        boolean     not null default false,
    tries        jsonb       not null default '[]' check (jsonb_typeof(tries) = 'array'),
    primary key (workspace_id, webhook_id, event_id)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000, vacuum_truncate = off);
create index deliveries_due on deliveries (workspace_id, webhook_id, due_at);

-- What became of deliveries, kept by day like events. The id is made at the last try. State and kind stand
-- before it in the key, so that every filter of the log is a prefix.
create table delivery_log (
    workspace_id bigint  not null,
    webhook_id   bigint  not null,
    state        text    not null check (state in ('delivered', 'failed', 'skipped')),
    kind         text    not null,
    id           bigint  not null,
    event_id     bigint  not null,
    tries        jsonb   not null,
    primary key (workspace_id, webhook_id, state, kind, id, event_id)
) partition by range (id);
create table delivery_log_default partition of delivery_log default;

-- Mail of the service to its own people, about things they look after.
create table notices (
    workspace_id bigint      not null references workspaces,
    id           bigint      not null,
    recipient    text        not null,
    kind         text        not null,
    subject      text        not null check (char_length(subject) between 1 and 200),
    body         text        not null,
    created_at   timestamptz not null,
    due_at       timestamptz,
    claim        integer     not null default 0,
    sent_at      timestamptz,
    primary key (workspace_id, id),
    check ((due_at is null) = (sent_at is not null))
);
create index notices_due on notices (due_at) where due_at is not null;
