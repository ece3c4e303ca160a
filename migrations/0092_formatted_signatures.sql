-- Signatures with formatting and a logo (docs/decisions/formatted-mail.md): the form of `html/written`, which holds as long as the
-- signature's text is what it says. The version before this one changes the text alone, and then the text holds.
alter table mailboxes add column signature_html text check (octet_length(signature_html) <= 20480);
alter table people add column signature_html text check (octet_length(signature_html) <= 20480);

-- The signature at the end of a formatting: whoever stops the mail and writes on gets the words without it.
alter table message_html add column signature text;

-- Pictures of signatures, each of an inbox or of a person.
create table signature_files (
    workspace_id bigint not null,
    id           bigint not null,
    mailbox_id   bigint,
    person_id    bigint,
    filename     text   not null,
    content_type text   not null,
    size         bigint not null,
    blob         text   not null,
    primary key (workspace_id, id),
    foreign key (workspace_id, mailbox_id) references mailboxes (workspace_id, id) on delete cascade,
    foreign key (workspace_id, person_id) references people (workspace_id, id) on delete cascade,
    check (num_nonnulls(mailbox_id, person_id) = 1)
);
create index signature_files_of_mailbox on signature_files (workspace_id, mailbox_id) where mailbox_id is not null;
create index signature_files_of_person on signature_files (workspace_id, person_id) where person_id is not null;
