-- Who changed what in how the workspace is run. Entries are written once and never changed; each one's `mac` covers it and
-- the one before it, so that a change, a gap or another order shows (src/workspace/audit.rs).
create table audit_entries (
    workspace_id bigint      not null references workspaces,
    n            bigint      not null,
    at           timestamptz not null,
    -- user:usr_…, agent:agt_… or system, and the name it had.
    actor        text        not null,
    actor_name   text        not null,
    did          text        not null,
    -- What it was done to: an id or an address, and what it was called.
    subject      text        not null,
    subject_name text        not null,
    -- JSON as it was signed.
    data         text        not null,
    mac          bytea       not null check (octet_length(mac) = 32),
    primary key (workspace_id, n)
);
create index audit_entries_by_kind on audit_entries (workspace_id, did, n desc);
create index audit_entries_by_actor on audit_entries (workspace_id, actor, n desc);

-- The newest entry, and the sealed key that signs.
create table audit_heads (
    workspace_id bigint not null primary key references workspaces,
    n            bigint not null,
    mac          bytea  not null check (octet_length(mac) = 32),
    key          bytea  not null
);
