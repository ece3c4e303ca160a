-- What happened, for those who listen from outside. A row is written in the transaction of the change it
-- tells of and never changed: `body` is the very text that every delivery sends.
--
-- Kept by day: an id is the time in its upper bits, so a range of ids is a day, and forgetting a day is
-- dropping its partition. src/partitions.rs makes days ahead; what no day takes stands in the default one.

create table events (
    -- No foreign key: whoever records an event has entered its workspace, and the key would lock its row.
    workspace_id    bigint      not null,
    id              bigint      not null,
    kind            text        not null,
    livemode        boolean     not null,
    audience        bigint      not null,
    conversation_id bigint,
    created_at      timestamptz not null,
    body            text        not null,
    primary key (workspace_id, id)
) partition by range (id);
create table events_default partition of events default;
