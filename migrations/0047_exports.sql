-- A ZIP of everything of a contact, or of the workspace, for whoever asked for it (src/exports).
create table exports (
    workspace_id bigint      not null references workspaces,
    id           bigint      not null,
    person_id    bigint      not null,
    -- Sealed, and gone with the file. None is the whole workspace.
    address      bytea,
    is_contact   boolean     not null,
    created_at   timestamptz not null,
    -- Moves on with every try; a node that died is followed by another.
    due_at       timestamptz,
    claim        integer     not null default 0,
    tries        smallint    not null default 0,
    -- Conversations that are in it so far, of how many.
    done         integer     not null default 0,
    total        integer     not null default 0,
    blob         text,
    size         bigint,
    made_at      timestamptz,
    -- When it is removed.
    ends_at      timestamptz,
    ended_at     timestamptz,
    -- It could not be made.
    failed       boolean     not null default false,
    primary key (workspace_id, id),
    foreign key (workspace_id, person_id) references people (workspace_id, id)
);
create index exports_due on exports (due_at) where due_at is not null;
create index exports_ending on exports (ends_at) where ended_at is null and ends_at is not null;
create index exports_open on exports (workspace_id, person_id) where ended_at is null;
