-- Who there is: workspaces, people, agents (one for each API key) and inboxes.
-- Everything a workspace owns has workspace_id first in every key, so that a workspace can be moved whole.

create table workspaces (
    id         bigint      primary key,
    name       text        not null check (char_length(name) between 1 and 100),
    slug       text        not null,
    plan       text        not null check (plan in ('free', 'pro', 'team')),
    created_at timestamptz not null,
    -- Set while the workspace is being moved to another cell: no write may start here.
    fenced_at  timestamptz
);

-- The first statement of every write transaction. The shared lock lets writers pass each other and makes a
-- mover (which takes it exclusively) wait for them; the fence is read after the lock is held, with a
-- snapshot of its own, so that no writer slips in between.
create function enter_workspace(entered bigint) returns void language plpgsql as $$
begin
    perform pg_advisory_xact_lock_shared(entered);
    if not exists (select from workspaces where id = entered and fenced_at is null) then
        raise exception 'workspace is fenced' using errcode = 'RK001';
    end if;
end
$$;

create table people (
    workspace_id bigint      not null references workspaces,
    id           bigint      not null,
    email        text        not null check (email = lower(email)),
    name         text        not null check (char_length(name) between 1 and 100),
    role         text        not null check (role in ('owner', 'admin', 'member')),
    created_at   timestamptz not null,
    removed_at   timestamptz,
    primary key (workspace_id, id)
);
create unique index people_email on people (workspace_id, email) where removed_at is null;

-- An API key acts as its own agent. Only the hash of the key is kept.
create table agents (
    workspace_id bigint      not null references workspaces,
    id           bigint      not null,
    name         text        not null check (char_length(name) between 1 and 60),
    maker_id     bigint      not null,
    livemode     boolean     not null,
    scopes       text[]      not null check (
        'read' = any (scopes) and scopes <@ array['read', 'write', 'draft', 'send', 'record']),
    key_hash     bytea       not null check (octet_length(key_hash) = 32),
    key_hint     text        not null,
    created_at   timestamptz not null,
    revoked_at   timestamptz,
    primary key (workspace_id, id),
    foreign key (workspace_id, maker_id) references people (workspace_id, id)
);
create unique index agents_key on agents (workspace_id, key_hash);
create unique index agents_name on agents (workspace_id, livemode, lower(name)) where revoked_at is null;

-- audience: who can see an inbox, as one number. 0 the whole team, -1 the sandbox (test keys only),
-- anything else the one person a private inbox belongs to. Conversations and documents carry a copy,
-- so that "what this key can see" is an equality in every index.
create table mailboxes (
    workspace_id bigint      not null references workspaces,
    id           bigint      not null,
    kind         text        not null check (kind in ('team', 'private', 'sandbox')),
    owner_id     bigint,
    audience     bigint      not null generated always as (
        case kind when 'team' then 0 when 'sandbox' then -1 else owner_id end) stored,
    address      text        not null check (address = lower(address)),
    name         text        not null check (char_length(name) between 1 and 100),
    created_at   timestamptz not null,
    primary key (workspace_id, id),
    unique (workspace_id, address),
    foreign key (workspace_id, owner_id) references people (workspace_id, id),
    check ((kind = 'private') = (owner_id is not null))
);
create unique index mailboxes_one_sandbox on mailboxes (workspace_id) where kind = 'sandbox';

-- The rate limit's shared part: a key has a fixed number of blocks, a node holds a block until a time.
-- Unlogged: after a crash of PostgreSQL the count starts anew, which the limit allows (it is approximate).
create unlogged table rate_blocks (
    workspace_id bigint      not null,
    subject_id   bigint      not null,
    block        smallint    not null,
    node         bigint      not null,
    held_until   timestamptz not null,
    primary key (workspace_id, subject_id, block)
) with (fillfactor = 50);
