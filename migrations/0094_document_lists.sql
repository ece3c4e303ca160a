-- Lists of documents that a team asks for often.
create table document_lists (
    workspace_id bigint      not null references workspaces,
    id           bigint      not null,
    name         text        not null check (char_length(name) between 1 and 100),
    items        jsonb       not null,
    changed_by   bigint      not null,
    changed_at   timestamptz not null,
    primary key (workspace_id, id)
);
create unique index document_lists_name on document_lists (workspace_id, lower(name));

-- The language that documents are asked for in, and that the page behind the link opens in. Null when nobody chose one, as of what
-- the version before asks for.
alter table document_requests
    add column language text check (language in ('en', 'de', 'fr', 'es', 'it', 'nl', 'pt'));
alter table written_drafts
    add column documents_language text check (documents_language in ('en', 'de', 'fr', 'es', 'it', 'nl', 'pt'));
