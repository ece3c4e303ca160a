-- What is kept and for how long: the audit log, holds, retention, erasures.

-- The end of the chain is signed, so that cutting entries off and pointing at an earlier one shows. Entries older than a year
-- go; the anchor signs the newest of those, where the chain begins from then on (src/workspace/audit/watch.rs).
alter table audit_heads add column signed bytea check (octet_length(signed) = 32);
alter table audit_heads add column trimmed_n bigint not null default 0;
alter table audit_heads add column trimmed_mac bytea not null
    default '\x0000000000000000000000000000000000000000000000000000000000000000' check (octet_length(trimmed_mac) = 32);
alter table audit_heads add column anchor bytea check (octet_length(anchor) = 32);
-- When the whole chain was last checked, how far, and the first place that was not as it was written.
alter table audit_heads add column checked_at timestamptz;
alter table audit_heads add column checked_n bigint;
alter table audit_heads add column broken_n bigint;
alter table audit_heads add column broken_why text;
create index audit_heads_to_check on audit_heads (checked_at);

-- What must neither be erased nor removed by time. `address` is a contact, `conversation_id` one conversation; a hold
-- without either covers the whole workspace.
create table holds (
    workspace_id    bigint      not null references workspaces,
    id              bigint      not null,
    name            text        not null check (char_length(name) between 1 and 200),
    address         text        check (address = lower(address)),
    conversation_id bigint,
    placed_by       text        not null,
    placed_at       timestamptz not null,
    ended_at        timestamptz,
    primary key (workspace_id, id),
    check (address is null or conversation_id is null)
);
create index holds_standing on holds (workspace_id, address) where ended_at is null;
create index holds_of_conversation on holds (workspace_id, conversation_id) where conversation_id is not null;

-- Who is in a mail: its sender, whom answers go to, and those it went to. Addresses of lists are stored in lower case.
create function message_names(address text, from_email text, reply_to text, others text[]) returns boolean
language sql immutable as $$
    select coalesce(lower(from_email) = address, false) or coalesce(lower(reply_to) = address, false)
        or coalesce(address = any (others), false)
$$;

-- Who is in a conversation: its contact, the contact of one that became part of it, and whoever is in its mail. These are
-- asked for very many conversations in one statement, so they are in plpgsql, which keeps its plans.
create function takes_part(workspace bigint, conversation bigint, somebody text) returns boolean
language plpgsql stable as $$
begin
    return exists (select from conversations where workspace_id = workspace and id = conversation and contact_email = somebody)
        or exists (select from merged_conversations
                   where workspace_id = workspace and into_id = conversation and contact_email = somebody)
        or exists (select from messages where workspace_id = workspace and conversation_id = conversation
                     and message_names(somebody, from_email, reply_to,
                                       to_addresses || cc_addresses || bcc_addresses || also_to));
end
$$;

-- What a hold with this address or conversation covers.
create function hold_covers(workspace bigint, address text, held bigint, conversation bigint) returns boolean
language sql stable as $$
    select case when held is not null then held = conversation
                when address is not null then takes_part(workspace, conversation, address)
                else true end
$$;

-- The one condition of what neither an erasure nor time may take.
create function is_held(workspace bigint, conversation bigint) returns boolean language plpgsql stable as $$
begin
    return exists (select from holds h where h.workspace_id = workspace and h.ended_at is null
                     and hold_covers(workspace, h.address, h.conversation_id, conversation));
end
$$;

-- What time leaves alone: what is held, and what has mail that is still to leave or to be approved.
create function is_kept(workspace bigint, conversation bigint) returns boolean language plpgsql stable as $$
begin
    return exists (select from messages m where m.workspace_id = workspace and m.conversation_id = conversation
                     and m.status in ('draft', 'scheduled', 'sending'))
        or is_held(workspace, conversation);
end
$$;

-- How many days a closed conversation of the inbox is kept; for ever when there is no number.
alter table mailboxes add column keep_days integer check (keep_days between 1 and 36500);
-- Since when: a shorter time begins to count a day later, so that a slip of the hand takes nothing.
alter table mailboxes add column keep_from timestamptz;

-- Closed conversations that will be removed, unless somebody opens them again or a hold stops it.
create table trash (
    workspace_id    bigint      not null,
    conversation_id bigint      not null,
    mailbox_id      bigint      not null,
    since           timestamptz not null,
    due_at          timestamptz not null,
    primary key (workspace_id, conversation_id),
    foreign key (workspace_id, conversation_id) references conversations (workspace_id, id) on delete cascade
);
create index trash_due on trash (due_at);
create index trash_by_mailbox on trash (workspace_id, mailbox_id, due_at);

-- A contact that is erased, in steps that each are done once (src/erasures/work.rs). The address is sealed while it is
-- needed, and gone when the work is done; its keyed hash stays.
create table erasures (
    workspace_id  bigint      not null references workspaces,
    id            bigint      not null,
    address_hash  bytea       not null check (octet_length(address_hash) = 32),
    address       bytea,
    asked_by      text        not null,
    reason        text        not null,
    created_at    timestamptz not null,
    step          text        not null default 'listing'
        check (step in ('finding', 'listing', 'conversations', 'messages', 'rest', 'answers', 'files', 'done')),
    -- How far the walk over all messages is, and after it the one over the log of webhooks.
    after_id      bigint      not null default 0,
    -- Done once before: an older backup came back. Holds of that time do not stop it.
    replayed      boolean     not null default false,
    conversations integer     not null default 0,
    messages      integer     not null default 0,
    documents     integer     not null default 0,
    done_at       timestamptz,
    primary key (workspace_id, id),
    check ((step = 'done') = (done_at is not null)),
    check (step <> 'done' or address is null)
);
create index erasures_undone on erasures (created_at) where done_at is null;

-- Files whose rows are gone. A row here is as good as the promise to remove the file, which a crash cannot lose.
create table doomed_files (
    workspace_id bigint      not null references workspaces,
    blob         text        not null,
    since        timestamptz not null,
    primary key (workspace_id, blob)
);
create index doomed_files_oldest on doomed_files (since);

-- Addresses that must not be written to and whose owner was erased: only whoever has the address can tell that it is one.
create table erased_bans (
    workspace_id bigint      not null references workspaces,
    livemode     boolean     not null,
    hash         bytea       not null check (octet_length(hash) = 32),
    reason       text        not null,
    at           timestamptz not null,
    primary key (workspace_id, livemode, hash)
);
