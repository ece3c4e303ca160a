-- The first owner of an empty service. There is one link at most: a new one ends the one before, and whoever uses it takes
-- it. It is made before there is any workspace, so it stands in the directory.
create table directory.first_run_links (
    is_it      boolean     primary key default true check (is_it),
    token_hash bytea       not null check (octet_length(token_hash) = 32),
    ends_at    timestamptz not null
);

-- Steps of setting a workspace up that somebody left out. What is done is seen in the workspace itself.
create table skipped_steps (
    workspace_id bigint      not null references workspaces,
    step         text        not null check (step in ('inbox', 'dns', 'test-mail', 'people', 'key')),
    skipped_by   bigint      not null,
    skipped_at   timestamptz not null,
    primary key (workspace_id, step),
    foreign key (workspace_id, skipped_by) references people (workspace_id, id)
);
