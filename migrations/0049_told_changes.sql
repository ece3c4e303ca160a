-- Who was told of which breaking change of the API (src/breaking_changes.rs), so that nobody is told twice.
create table told_changes (
    workspace_id bigint      not null,
    person_id    bigint      not null,
    change       text        not null,
    told_at      timestamptz not null,
    primary key (workspace_id, person_id, change),
    foreign key (workspace_id, person_id) references people (workspace_id, id)
);
