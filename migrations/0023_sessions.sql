-- Sessions of people in the app. A cookie holds the token; only its hash is kept.
create table sessions (
    workspace_id bigint      not null references workspaces,
    id           bigint      not null,
    token_hash   bytea       not null check (octet_length(token_hash) = 32),
    person_id    bigint      not null,
    created_at   timestamptz not null,
    -- The last request, to within some minutes; a session that is not used ends.
    seen_at      timestamptz not null,
    -- It ends then, used or not.
    ends_at      timestamptz not null,
    -- What the browser calls itself, for the person's list of sessions.
    browser      text        not null check (char_length(browser) <= 200),
    primary key (workspace_id, id),
    foreign key (workspace_id, person_id) references people (workspace_id, id)
);
create unique index sessions_token on sessions (workspace_id, token_hash);
create index sessions_person on sessions (workspace_id, person_id);
-- Those that have ended are removed.
create index sessions_ended on sessions (ends_at);
