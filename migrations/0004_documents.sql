-- The document library: attachments of incoming mail and, later, uploads.

create table documents (
    workspace_id    bigint      not null references workspaces,
    id              bigint      not null,
    audience        bigint      not null,
    conversation_id bigint,
    kind            text        check (kind in
        ('invoice', 'receipt', 'statement', 'contract', 'id', 'tax', 'photo', 'other')),
    title           text        not null check (title <> ''),
    filename        text        not null check (filename <> ''),
    fields          jsonb       not null default '{}' check (jsonb_typeof(fields) = 'object'),
    content_type    text        not null,
    size            bigint      not null,
    content_hash    bytea       not null check (octet_length(content_hash) = 32),
    blob            text        not null,
    created_at      timestamptz not null,
    -- Title, file name and field values folded to lower case, and the hashes of its three-letter pieces.
    searched        text        not null,
    pieces          bigint[]    not null,
    primary key (workspace_id, id),
    foreign key (workspace_id, conversation_id) references conversations (workspace_id, id) on delete cascade
);
create unique index documents_filed_once on documents (workspace_id, conversation_id, content_hash);
create index documents_by_audience on documents (workspace_id, audience, created_at desc, id desc);
create index documents_by_kind on documents (workspace_id, audience, kind, created_at desc, id desc);
create index documents_pieces on documents using gin (pieces);
