-- How webhooks did, by hour, for the picture of their last day: counting the log anew would cost as much as the webhook has
-- deliveries. Whoever holds a lane writes its hours, so nobody waits for another here.
create table webhook_hours (
    workspace_id bigint      not null,
    webhook_id   bigint      not null,
    hour         timestamptz not null,
    -- Tries that were answered well, and tries in vain.
    delivered    integer     not null,
    failed       integer     not null,
    primary key (workspace_id, webhook_id, hour),
    foreign key (workspace_id, webhook_id) references webhooks (workspace_id, id) on delete cascade
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
create index webhook_hours_ended on webhook_hours (hour);

-- A webhook that was removed hears nothing more and is shown nowhere. Its row stays until its log has gone, so that what
-- still waits for it is worked off as for any webhook that is stopped.
alter table webhooks add column removed_at timestamptz;
create index webhooks_removed on webhooks (removed_at) where removed_at is not null;
