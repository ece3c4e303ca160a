-- Events in the order in which they can be read: a number for each, given when it is fanned out. Whoever gives numbers of a
-- workspace holds its row of event_feed_heads until the commit, so no number is seen before a smaller one, however long the
-- transaction took that recorded the event. A number is the time in its upper bits, and kept by day like events; the steps
-- between numbers are of chance, so they do not tell how much happens where a reader cannot see.
create table event_feed (
    workspace_id bigint not null,
    audience     bigint not null,
    id           bigint not null,
    event_id     bigint not null,
    kind         text   not null,
    primary key (workspace_id, audience, id)
) partition by range (id);
create table event_feed_default partition of event_feed default;

create table event_feed_heads (
    workspace_id bigint primary key,
    newest       bigint not null
) with (fillfactor = 50);

create or replace function days_kept(kept text) returns integer language sql immutable as $$
    select case
        when kept in ('events', 'sandbox_mail', 'delivery_log', 'event_feed') then 30
        when kept = 'answered_requests' then 1
    end
$$;
