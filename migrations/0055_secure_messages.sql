-- Secure messages (6.2): their words and files are kept sealed, and the mail only tells of them. What a message says in
-- the open is always the same two words, so whatever reads `text` has nothing to give away.

alter table messages add column sealed bytea;

create function message_holds(
    direction text, status text, sent_at timestamptz, sends_at timestamptz, due_at timestamptz, author_type text,
    author_id bigint, content_hash bytea, id_hash bigint, raw bytea, raw_blob text, summary text, verdict jsonb,
    origin text, channel text, is_sealed boolean, text text, whole_text text, written text, drafted_body text,
    attachments jsonb
) returns boolean language plpgsql immutable as $$
begin
    if is_sealed and not (channel = 'secure' and text = 'Secure message' and whole_text is null and written is null
            and drafted_body is null and raw is null and raw_blob is null and attachments = '[]') then
        return false;
    end if;
    return direction in ('inbound', 'outbound')
        and (direction = 'inbound') = (status is null)
        and (direction = 'inbound') = (content_hash is not null and id_hash is not null)
        and status in ('draft', 'scheduled', 'sending', 'sent', 'failed')
        and (status <> 'scheduled' or sends_at is not null)
        and (status <> 'sending' or sends_at is not null)
        and (status <> 'sent' or sent_at is not null)
        and (sends_at is null or direction = 'outbound')
        and ((status in ('scheduled', 'sending')) is true) = (due_at is not null)
        and author_type in ('user', 'agent')
        and (author_type is null) = (author_id is null)
        and (direction = 'outbound' or author_type is null)
        and (raw is null or raw_blob is null)
        and char_length(summary) <= 500
        and jsonb_typeof(verdict) = 'object'
        and (origin is null or (direction = 'outbound'
            and origin in ('person', 'agent', 'assistant', 'service')
            and (origin = 'person') = (author_type is not distinct from 'user')
            and (origin = 'agent') = (author_type is not distinct from 'agent')))
        and channel in ('mail', 'secure');
end
$$;
-- What is there holds already, since nothing of it is sealed; 0056 looks.
alter table messages drop constraint messages_hold, add constraint messages_hold check (message_holds(
    direction, status, sent_at, sends_at, due_at, author_type, author_id, content_hash, id_hash, raw, raw_blob, summary,
    verdict, origin, channel, sealed is not null, text, whole_text, written, drafted_body, attachments)) not valid;
drop function message_holds(
    text, text, timestamptz, timestamptz, timestamptz, text, bigint, bytea, bigint, bytea, text, text, jsonb, text, text);

-- What a workspace's secure words and files are sealed with, itself sealed with the server's key: when that is replaced,
-- this row is sealed anew and no word has to be.
create table secure_keys (
    workspace_id bigint primary key references workspaces,
    sealed       bytea  not null
);

-- The page of a secure message of ours. Who opens it proves that they read the mail of its address, or knows a passphrase.
create table secure_pages (
    workspace_id    bigint      not null,
    message_id      bigint      not null,
    -- In its link and its cookie: the next one ends both.
    generation      integer     not null default 0,
    proof           text        not null default 'code' check (proof in ('code', 'passphrase')),
    passphrase_hash text,
    expires_at      timestamptz not null,
    revoked_at      timestamptz,
    wrong_tries     smallint    not null default 0,
    locked_until    timestamptz,
    first_read_at   timestamptz,
    primary key (workspace_id, message_id),
    foreign key (workspace_id, message_id) references messages (workspace_id, id) on delete cascade deferrable,
    check ((proof = 'passphrase') = (passphrase_hash is not null))
);

-- Files of a secure message. Their names and types are sealed too.
create table secure_files (
    workspace_id bigint not null,
    id           bigint not null,
    message_id   bigint not null,
    blob         text   not null,
    size         bigint not null check (size >= 0),
    sealed       bytea  not null,
    primary key (workspace_id, id),
    foreign key (workspace_id, message_id) references messages (workspace_id, id) on delete cascade deferrable
);
create index secure_files_of_message on secure_files (workspace_id, message_id);

-- What happened on a page.
create table secure_visits (
    workspace_id bigint      not null,
    message_id   bigint      not null,
    id           bigint      not null,
    at           timestamptz not null,
    what         text        not null check (what in ('code-sent', 'wrong', 'read', 'file', 'replied', 'locked', 'ended')),
    network      inet,
    primary key (workspace_id, message_id, id),
    foreign key (workspace_id, message_id) references secure_pages on delete cascade
);

-- The words of such a draft are sealed while it is written. What opens it is kept with it, and the passphrase never is.
alter table written_drafts
    add column secure boolean not null default false,
    add column proof  text    not null default 'code' check (proof in ('code', 'passphrase'));
-- What is done with is forgotten by a loop, of all people alike: its files may be those of a secure draft.
drop index written_drafts_done;
create index written_drafts_done on written_drafts (became_at) where became is not null;

-- An owner decides whether agents read secure words.
alter table workspaces add column agents_read_secure boolean not null default false;
