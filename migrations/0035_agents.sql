-- Agents, as people watch over them: the word that stops all of them, how much each may write in a day and what became of
-- it, and when and from where a key was last used.

-- Since when every agent is stopped, and who said so.
alter table workspaces
    add column agents_stopped_at timestamptz,
    add column agents_stopped_by text;

-- How many messages an agent may write in a day. None: as many as its rate allows.
alter table agents add column daily_cap integer check (daily_cap >= 0);

-- An agent's transaction begins with this instead of enter_workspace. It shares a lock of its own until it ends; whoever
-- stops the agents takes that lock alone once the word is written, and so knows that everything before it has ended. The
-- first look is for those who come while somebody waits for that lock: they are refused at once and wait for nobody.
-- Ids are positive: the lock of a workspace's agents is its id below zero.
create function enter_as_agent(entered bigint) returns void language plpgsql as $$
begin
    perform enter_workspace(entered);
    if not exists (select from workspaces where id = entered and agents_stopped_at is not null) then
        perform pg_advisory_xact_lock_shared(-entered);
    end if;
    if exists (select from workspaces where id = entered and agents_stopped_at is not null) then
        raise exception 'agents are stopped' using errcode = 'RK002';
    end if;
end
$$;

-- Messages that an agent sends by itself and that a node is handing over now. Such a row is made in a transaction of the
-- agent, so that stopping can wait for what has begun.
create table agent_handovers (
    workspace_id bigint      not null,
    message_id   bigint      not null,
    claim        integer     not null,
    -- Then the node has given up, if it still lives.
    until        timestamptz not null,
    primary key (workspace_id, message_id),
    foreign key (workspace_id, message_id) references messages (workspace_id, id) on delete cascade deferrable
);

-- What an agent wrote and what became of it, by day of the workspace's zone. What happened in a private inbox is counted
-- apart: only its owner, who made the key, is shown it.
create table agent_days (
    workspace_id      bigint  not null,
    agent_id          bigint  not null,
    day               date    not null,
    drafted           integer not null default 0,
    scheduled         integer not null default 0,
    approved          integer not null default 0,
    edited            integer not null default 0,
    discarded         integer not null default 0,
    sent              integer not null default 0,
    private_drafted   integer not null default 0,
    private_scheduled integer not null default 0,
    private_approved  integer not null default 0,
    private_edited    integer not null default 0,
    private_discarded integer not null default 0,
    private_sent      integer not null default 0,
    primary key (workspace_id, agent_id, day),
    foreign key (workspace_id, agent_id) references agents (workspace_id, id)
);
create index agent_days_by_day on agent_days (day);

-- What an agent wrote lately, newest first by id. The message itself may be gone: then somebody discarded it.
create table agent_messages (
    workspace_id    bigint      not null,
    agent_id        bigint      not null,
    -- Of its conversation: 0 for the team, -1 for the sandbox, else a person.
    audience        bigint      not null,
    message_id      bigint      not null,
    conversation_id bigint      not null,
    at              timestamptz not null,
    primary key (workspace_id, agent_id, audience, message_id),
    foreign key (workspace_id, agent_id) references agents (workspace_id, id)
);
create index agent_messages_by_time on agent_messages (at);

-- When a key was last used, from which network and by what. Apart from the key, whose row every request reads.
create table key_uses (
    workspace_id bigint      not null,
    agent_id     bigint      not null,
    used_at      timestamptz not null,
    -- An IPv4 /24 or an IPv6 /48.
    network      text        not null,
    -- What it called itself.
    client       text        not null,
    primary key (workspace_id, agent_id),
    foreign key (workspace_id, agent_id) references agents (workspace_id, id)
);
