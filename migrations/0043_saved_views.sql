-- Views that a person saved for themselves: what the list or the search was asked for, as its address has it, under a name.
create table saved_views (
    workspace_id bigint      not null,
    person_id    bigint      not null,
    id           bigint      not null,
    place        integer     not null,
    name         text        not null check (char_length(name) between 1 and 60),
    kind         text        not null check (kind in ('list', 'search')),
    query        text        not null check (char_length(query) <= 3000),
    created_at   timestamptz not null,
    primary key (workspace_id, person_id, id),
    foreign key (workspace_id, person_id) references people (workspace_id, id)
);
