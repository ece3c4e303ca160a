-- What the name servers last said of a domain (src/outgoing/domain/check.rs).
alter table sending_domains add column checked_at timestamptz;
alter table sending_domains add column findings jsonb;

-- Whoever answers an unassigned conversation of this inbox has it from then on.
alter table mailboxes add column assigns_on_reply boolean not null default false;

-- Further addresses of an inbox. Mail to one is mail to the inbox; answers leave from the inbox's own address.
create table mailbox_aliases (
    workspace_id bigint      not null,
    address      text        not null check (address = lower(address)),
    mailbox_id   bigint      not null,
    created_at   timestamptz not null,
    primary key (workspace_id, address),
    foreign key (workspace_id, mailbox_id) references mailboxes (workspace_id, id)
);
create index mailbox_aliases_of_inbox on mailbox_aliases (workspace_id, mailbox_id);
