-- Addresses that are not written to: about which message, and who changed it when and why.
alter table suppressed_addresses add message_id bigint;
create table suppression_changes (
    workspace_id bigint      not null references workspaces,
    id           bigint      not null,
    livemode     boolean     not null,
    address      text        not null check (address = lower(address)),
    change       text        not null check (change in ('suppressed', 'lifted')),
    -- Suppressed by a bounce or a complaint; lifted because the person wrote again or an operator asked for it.
    reason       text        not null check (reason in ('bounce', 'complaint', 'wrote', 'asked')),
    done_by      text        not null,
    -- What it was about: the message of ours that bounced, or the mail of theirs that came.
    message_id   bigint,
    at           timestamptz not null,
    primary key (workspace_id, id)
);
create index suppression_changes_by_address on suppression_changes (workspace_id, livemode, address, id);

-- Replies that nobody was told of because they looked like a scam. When a person releases the conversation, they
-- are told of.
create table withheld_replies (
    workspace_id    bigint not null,
    conversation_id bigint not null,
    message_id      bigint not null,
    primary key (workspace_id, conversation_id, message_id),
    foreign key (workspace_id, conversation_id, message_id)
        references messages (workspace_id, conversation_id, id) on delete cascade
);

-- Where a tag was ever used: only who can see one of these audiences is told its name. It takes the place of
-- `in_sandbox`, which goes with a later version.
alter table tags add audiences bigint[] not null default '{}';
update tags set audiences = array(
    select audience from conversation_tags used where used.workspace_id = tags.workspace_id and used.tag_id = tags.id
    union
    select audience from counts
    where counts.workspace_id = tags.workspace_id and what = 'tag' and subject_id = tags.id
    union
    select audience from count_changes changed
    where changed.workspace_id = tags.workspace_id and what = 'tag' and subject_id = tags.id
    union
    select -1 where tags.in_sandbox);

-- Whose keys end: people who left, and the keys they made.
create index people_removed on people (workspace_id, id) where removed_at is not null;
create index agents_by_maker on agents (workspace_id, maker_id) where revoked_at is null;
