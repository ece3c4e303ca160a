-- The directory answers one question: where does this belong? It lives in a schema (and may live in a
-- database) of its own, because with several cells every node asks it and no cell owns it.
-- Rows here are written once and never carry anything a workspace would call its data.

create schema directory;

create table directory.workspaces (
    id    bigint primary key,
    slug  text   not null unique check (slug ~ '^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$'),
    cell  text   not null default 'main'
);

-- A key's hash never moves to another workspace, so nodes may remember this row.
-- Whether the key is still good is asked of the workspace on every request.
create table directory.api_keys (
    key_hash     bytea  primary key check (octet_length(key_hash) = 32),
    workspace_id bigint not null references directory.workspaces
);

create table directory.addresses (
    address      text   primary key check (address = lower(address)),
    workspace_id bigint not null references directory.workspaces
);
