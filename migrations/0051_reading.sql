-- Reading documents: which of them wait for it, what was read where, and what people set right (src/documents).

-- A document that waits to be read. None of the sandbox: helpers do not run there.
create table unread_documents (
    workspace_id bigint      not null,
    document_id  bigint      not null,
    -- Moves to the end of a lease with every claim.
    due_at       timestamptz not null,
    claim        integer     not null default 0,
    tries        smallint    not null default 0,
    primary key (workspace_id, document_id),
    foreign key (workspace_id, document_id) references documents (workspace_id, id) on delete cascade
);
create index unread_documents_due on unread_documents (due_at);

-- What came of reading a document, the last time.
--   read        there was text
--   no-text     a scan or a picture, and nothing here that reads those
--   encrypted   it needs a password
--   unreadable  nothing that can be read, or what reads it gave up
--   failed      it could not be tried: the file or the machine was out of reach
create table document_readings (
    workspace_id bigint      not null,
    document_id  bigint      not null,
    read_at      timestamptz not null,
    -- Who says so: `rules 1`, `rules 1, the XML in the file`
    read_by      text        not null,
    milliseconds integer     not null,
    state        text        not null check (state in ('read', 'no-text', 'encrypted', 'unreadable', 'failed')),
    pages        integer     not null,
    -- By field: who says so, the page, the line, its words and its place.
    sources      jsonb       not null check (jsonb_typeof(sources) = 'object'),
    -- The beginning of its text.
    text         text        not null,
    primary key (workspace_id, document_id),
    foreign key (workspace_id, document_id) references documents (workspace_id, id) on delete cascade
);

-- What a person set. No reading overwrites it.
create table document_corrections (
    workspace_id bigint      not null,
    document_id  bigint      not null,
    field        text        not null check (field in
        ('kind', 'title', 'vendor', 'amount', 'currency', 'date', 'dueDate', 'reference')),
    -- JSON; null says that there is none.
    value        jsonb       not null,
    -- What stood there before the first person changed it.
    was          jsonb       not null,
    set_by       bigint      not null,
    set_at       timestamptz not null,
    primary key (workspace_id, document_id, field),
    foreign key (workspace_id, document_id) references documents (workspace_id, id) on delete cascade,
    foreign key (workspace_id, set_by) references people (workspace_id, id)
);
