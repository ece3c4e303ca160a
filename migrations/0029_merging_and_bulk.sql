-- Conversations that became part of another, and changes of many conversations at once.

-- A conversation that was merged is gone; its id leads to the one that took it in. Always the last one: when that is
-- merged in its turn, the rows move on. Inbox and contact stay known, so that mail of either side still comes in.
create table merged_conversations (
    workspace_id  bigint      not null,
    id            bigint      not null,
    into_id       bigint      not null,
    mailbox_id    bigint      not null,
    contact_email text,
    subject       text        not null,
    merged_at     timestamptz not null,
    primary key (workspace_id, id),
    foreign key (workspace_id, into_id) references conversations (workspace_id, id) on delete cascade
);
create index merged_conversations_into on merged_conversations (workspace_id, into_id);

-- What hangs on a message or a note moves with it to another conversation, room by room; it is checked when all have
-- moved. Until somebody asks for that, everything is checked at once, as before.
do $$
declare
    hanging record;
begin
    for hanging in select conrelid::regclass as of_table, conname from pg_constraint
                   where contype = 'f' and confrelid in ('messages'::regclass, 'notes'::regclass) loop
        execute format('alter table %s alter constraint %I deferrable initially immediate', hanging.of_table, hanging.conname);
    end loop;
end
$$;

-- A change that a person made to one conversation or to very many. What it is done to was settled when it began.
create table bulk_jobs (
    workspace_id bigint      not null references workspaces,
    id           bigint      not null,
    person_id    bigint      not null,
    action       text        not null,
    argument     text        not null default '',
    state        text        not null check (state in ('working', 'done', 'cancelled', 'undoing', 'undone')),
    total        integer     not null,
    -- How far it is: what was changed or needed no change, what could not be; and, of an undo, what was restored.
    done         integer     not null default 0,
    failed       integer     not null default 0,
    undone       integer     not null default 0,
    created_at   timestamptz not null,
    ended_at     timestamptz,
    primary key (workspace_id, id),
    foreign key (workspace_id, person_id) references people (workspace_id, id),
    check ((state in ('working', 'undoing')) = (ended_at is null))
) with (fillfactor = 70);
create index bulk_jobs_at_work on bulk_jobs (created_at) where ended_at is null;
create index bulk_jobs_of_person on bulk_jobs (workspace_id, person_id) where ended_at is null;
create index bulk_jobs_ended on bulk_jobs (ended_at) where ended_at is not null;

-- One conversation of a job. It is changed in the transaction that changes the conversation, so nothing is done twice.
--   waiting   nobody was there yet
--   changed   `before` is how it was, `last_item` the number of its newest timeline item after the change
--   same      there was nothing to change
--   failed    `problem` says why
--   restored  taken back; kept: not taken back, because something happened since
create table bulk_job_items (
    workspace_id    bigint   not null,
    job_id          bigint   not null,
    place           integer  not null,
    conversation_id bigint   not null,
    state           text     not null default 'waiting'
        check (state in ('waiting', 'changed', 'same', 'failed', 'restored', 'kept')),
    tries           smallint not null default 0,
    problem         text,
    before          jsonb,
    last_item       integer,
    primary key (workspace_id, job_id, place),
    foreign key (workspace_id, job_id) references bulk_jobs (workspace_id, id) on delete cascade,
    check ((state = 'failed') = (problem is not null)),
    check (state not in ('changed', 'restored') or (before is not null and last_item is not null))
) with (fillfactor = 70);
create index bulk_job_items_waiting on bulk_job_items (workspace_id, job_id, tries, place) where state = 'waiting';
create index bulk_job_items_changed on bulk_job_items (workspace_id, job_id, tries, place) where state = 'changed';
create index bulk_job_items_failed on bulk_job_items (workspace_id, job_id, place) where state = 'failed';

-- Which mentions hang on a note: asked whenever the note moves or goes.
create index mentions_of_note on mentions (workspace_id, conversation_id, note_id);
