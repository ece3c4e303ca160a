-- The outbox is read from a remembered place on. While somebody's snapshot is open, rows that are gone stay in every index, and a
-- look from the beginning walks over all of them: five million are seconds. So a note carries the generation it was written in,
-- a thousand numbers of transactions in the order PostgreSQL gave them. When all transactions of a generation have ended and none
-- of its notes is left, none can come any more, whatever the clocks of nodes say (src/events/outbox.rs).
--
-- Notes of the version before get theirs by the default too.
alter table unfanned_events
    add column generation bigint not null default (pg_current_xact_id()::text::bigint >> 10),
    drop constraint unfanned_events_pkey,
    add primary key (workspace_id, generation, event_id);
-- Which workspaces have notes, from a generation on.
create index unfanned_events_waiting on unfanned_events (generation, workspace_id);
