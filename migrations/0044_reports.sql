-- The numbers of the reports page, by inbox and week of the workspace's zone (its Monday), kept in the transactions that make
-- them true, so that no page counts mail. A row is one of several shards, so that mail seldom waits for other mail.
create table report_counts (
    workspace_id bigint   not null,
    mailbox_id   bigint   not null,
    what         text     not null check (what in ('arrived', 'answered', 'approved', 'edited', 'open', 'wait')),
    week         date     not null,
    -- Of 'wait' it is the bucket of the time to the first answer (src/conversations/reports/waits.rs).
    shard        smallint not null,
    n            integer  not null,
    primary key (workspace_id, mailbox_id, what, week, shard),
    foreign key (workspace_id, mailbox_id) references mailboxes (workspace_id, id)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
create index report_counts_ended on report_counts (week);
