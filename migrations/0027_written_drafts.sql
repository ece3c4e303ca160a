-- What people write: drafts that are never lost, whom a message goes to, files on mail of ours, saved replies, signatures.

-- Whom a message goes to, and what it answers or passes on. All are null on a message that goes to the contact and
-- answers the newest mail, as everything an agent writes does; of mail that came in, what its header said.
alter table messages
    add column to_addresses  text[],
    add column cc_addresses  text[],
    add column bcc_addresses text[],
    add column reply_to      text,
    -- Its own subject, where it is not that of the conversation.
    add column subject       text,
    add column answers       bigint,
    -- A message that is passed on to somebody else. Whoever gets it takes no part in the conversation.
    add column forwards      bigint;

alter table mailboxes add column signature text;

-- What somebody is writing: one row for each conversation, person and kind; a new conversation has none yet. What was
-- sent leaves the row without its words, so that the same click that comes twice finds what became of it.
create table written_drafts (
    workspace_id    bigint      not null,
    id              bigint      not null,
    person_id       bigint      not null,
    kind            text        not null check (kind in ('reply', 'note', 'forward', 'new')),
    conversation_id bigint,
    mailbox_id      bigint,
    -- The message it answers or passes on.
    about           bigint,
    -- As they were typed: what is half an address is kept too.
    to_line         text        not null default '',
    cc_line         text        not null default '',
    bcc_line        text        not null default '',
    subject         text        not null default '',
    body            text        not null default '',
    documents       text        not null default '',
    -- The newest timeline item that its writer had before them.
    seen            integer     not null default 0,
    version         integer     not null,
    -- Which open page saved it last, and the number of that save there.
    page            text        not null default '',
    save            integer     not null default 0,
    saved_at        timestamptz not null,
    -- The message or note it became.
    became          bigint,
    became_at       timestamptz,
    primary key (workspace_id, id),
    foreign key (workspace_id, person_id) references people (workspace_id, id),
    foreign key (workspace_id, conversation_id) references conversations (workspace_id, id) on delete cascade,
    foreign key (workspace_id, mailbox_id) references mailboxes (workspace_id, id),
    check ((kind = 'new') = (conversation_id is null) or became is not null),
    check ((became is null) = (became_at is null)),
    check (version > 0)
);
create unique index written_drafts_one_each on written_drafts (workspace_id, person_id, conversation_id, kind)
    where became is null and conversation_id is not null;
create index written_drafts_unsent on written_drafts (workspace_id, person_id, saved_at desc) where became is null;
create index written_drafts_of_conversation on written_drafts (workspace_id, conversation_id)
    where conversation_id is not null;
create index written_drafts_done on written_drafts (workspace_id, person_id, became_at) where became is not null;

-- The words of an open page that came too late: somebody wrote on in another one. Kept until the draft is sent.
create table written_draft_copies (
    workspace_id bigint      not null,
    draft_id     bigint      not null,
    page         text        not null,
    save         integer     not null,
    body         text        not null,
    saved_at     timestamptz not null,
    primary key (workspace_id, draft_id, page),
    foreign key (workspace_id, draft_id) references written_drafts (workspace_id, id) on delete cascade
);

-- Files that were uploaded to a draft. With the mail they become its attachments.
create table written_draft_files (
    workspace_id bigint      not null,
    id           bigint      not null,
    draft_id     bigint      not null,
    filename     text        not null,
    content_type text        not null,
    size         bigint      not null,
    blob         text        not null,
    -- The file of another row, which must not go with this one.
    borrowed     boolean     not null default false,
    primary key (workspace_id, id),
    foreign key (workspace_id, draft_id) references written_drafts (workspace_id, id) on delete cascade
);
create index written_draft_files_of_draft on written_draft_files (workspace_id, draft_id);

-- Texts the team writes often.
create table saved_replies (
    workspace_id bigint      not null references workspaces,
    id           bigint      not null,
    name         text        not null check (char_length(name) between 1 and 100),
    body         text        not null,
    changed_by   bigint      not null,
    changed_at   timestamptz not null,
    primary key (workspace_id, id)
);
create unique index saved_replies_name on saved_replies (workspace_id, lower(name));

create table saved_reply_files (
    workspace_id bigint      not null,
    id           bigint      not null,
    reply_id     bigint      not null,
    filename     text        not null,
    content_type text        not null,
    size         bigint      not null,
    blob         text        not null,
    primary key (workspace_id, id),
    foreign key (workspace_id, reply_id) references saved_replies (workspace_id, id) on delete cascade
);
create index saved_reply_files_of_reply on saved_reply_files (workspace_id, reply_id);
