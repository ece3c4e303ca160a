-- Cells: databases among which workspaces are spread. The directory knows them and which workspace lives where; an
-- installation with one database has one cell, `main`, and nothing to set.

create table directory.cells (
    name         text    primary key check (name ~ '^[a-z0-9][a-z0-9-]{0,30}$'),
    -- Where nodes that do not serve the cell send its requests and its mail on to.
    address      text,
    mail_address text,
    -- Takes no new workspaces.
    draining     boolean not null default false
);
insert into directory.cells (name) values ('main');

alter table directory.workspaces add foreign key (cell) references directory.cells;
create index workspaces_cell on directory.workspaces (cell);

-- A workspace on its way to another cell. The row is where the command goes on that was killed, and is gone at the end.
create table directory.moves (
    workspace_id bigint      primary key references directory.workspaces,
    from_cell    text        not null references directory.cells,
    to_cell      text        not null references directory.cells,
    step         text        not null default 'copy' check (step in ('copy', 'check', 'switch', 'open', 'clean')),
    begun_at     timestamptz not null,
    check (from_cell <> to_cell)
);

-- A fence in the future: nobody claims anything of the workspace any more, and everybody may still write until then.
-- So what a node has in hand is written down before the fence closes, and is not done a second time elsewhere.
create or replace function enter_workspace(entered bigint) returns void language plpgsql as $$
begin
    perform pg_advisory_xact_lock_shared(entered);
    if not exists (select from workspaces
                   where id = entered and (fenced_at is null or fenced_at > clock_timestamp())) then
        raise exception 'workspace is fenced' using errcode = 'RK001';
    end if;
end
$$;

-- A move copies by logical replication, which finds a row by its key; these tables have none.
alter table count_changes replica identity full;
alter table rule_runs replica identity full;

-- A mark that follows a workspace to its new cell behind everything that was written before it: when it is there, all of
-- that is.
create table move_marks (
    workspace_id bigint primary key,
    mark         bigint not null
);
