-- Sign-in of MCP clients (docs/decisions/client-sign-in.md). A client registers before anybody has signed in, so it stands in
-- the directory. What a person allowed stands in their workspace, as an agent without a key.

create table directory.clients (
    id            text        primary key,
    name          text        not null check (char_length(name) <= 60),
    redirects     text[]      not null check (cardinality(redirects) between 1 and 10),
    registered_at timestamptz not null,
    -- When somebody last let it in. What nobody let in ends after a day.
    used_at       timestamptz
);
create index clients_unused on directory.clients (registered_at) where used_at is null;

alter table agents alter column key_hash drop not null;

-- What a client may come with; it ends when nothing is left that could open it.
create table client_grants (
    workspace_id bigint      not null,
    agent_id     bigint      not null,
    client_id    text        not null,
    -- Of the authorization: the code is good for these only.
    redirect     text        not null,
    challenge    bytea       not null check (octet_length(challenge) = 32),
    ends_at      timestamptz not null,
    primary key (workspace_id, agent_id),
    foreign key (workspace_id, agent_id) references agents (workspace_id, id)
);
create index client_grants_ending on client_grants (ends_at);

-- Hashes of codes, access tokens and refresh tokens. One that was used stays until its end: whoever brings it again has it from
-- somewhere.
create table client_tokens (
    workspace_id bigint      not null,
    hash         bytea       not null check (octet_length(hash) = 32),
    agent_id     bigint      not null,
    kind         text        not null check (kind in ('code', 'access', 'refresh')),
    ends_at      timestamptz not null,
    used_at      timestamptz check (used_at is null or kind <> 'access'),
    primary key (workspace_id, hash),
    foreign key (workspace_id, agent_id) references agents (workspace_id, id)
);
create index client_tokens_ending on client_tokens (ends_at);

-- The page that a client opens has a long address, and people may have to sign in on the way to it.
alter table sso_attempts drop constraint sso_attempts_next_check,
    add constraint sso_attempts_next_check check (char_length(next) <= 2000);
