-- What agents asked for, for a month: each change by the transaction that made it, what was read or refused by a loop every
-- few seconds. No word of a request is here: which operation, on what, and how it ended. The id's time is the call's.
create table agent_calls (
    workspace_id    bigint   not null,
    agent_id        bigint   not null,
    id              bigint   not null,
    did             text     not null check (did in ('read', 'searched', 'wrote', 'refused')),
    -- Empty when it was refused before anybody knew.
    operation       text     not null,
    status          smallint not null,
    conversation_id bigint,
    document_id     bigint,
    times           integer  not null,
    primary key (workspace_id, agent_id, id)
) partition by range (id);
create table agent_calls_default partition of agent_calls default;

create or replace function days_kept(kept text) returns integer language sql immutable as $$
    select case
        when kept in ('events', 'sandbox_mail', 'delivery_log', 'event_feed', 'agent_calls') then 30
        when kept = 'answered_requests' then 1
    end
$$;
