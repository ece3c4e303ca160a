-- Coming to the team and leaving it; the second factor at sign-in.

-- Whoever was asked to join. The link stands in the mail and nowhere else: it is made when the mail leaves, and only its
-- hash is kept. An invitation that was used or withdrawn is gone.
create table invitations (
    workspace_id bigint      not null references workspaces,
    id           bigint      not null,
    email        text        not null check (email = lower(email)),
    role         text        not null check (role in ('owner', 'admin', 'member')),
    invited_by   bigint      not null,
    created_at   timestamptz not null,
    ends_at      timestamptz not null,
    -- None while the mail has not left.
    token_hash   bytea       check (octet_length(token_hash) = 32),
    primary key (workspace_id, id),
    foreign key (workspace_id, invited_by) references people (workspace_id, id)
);
create unique index invitations_email on invitations (workspace_id, email);
create unique index invitations_token on invitations (workspace_id, token_hash) where token_hash is not null;
create index invitations_ended on invitations (ends_at);

-- Somebody left the team: who takes over what they held. What is small is handed over in the same commit; the worker does
-- the rest, a batch at a time, until done_at. Nobody means: assigned to nobody, thrown away. Private inboxes have their
-- new owner already.
create table departures (
    workspace_id     bigint      not null,
    person_id        bigint      not null,
    at               timestamptz not null,
    conversations_to bigint,
    drafts_to        bigint,
    -- Mail that they scheduled becomes drafts.
    stop_scheduled   boolean     not null,
    done_at          timestamptz,
    primary key (workspace_id, person_id),
    foreign key (workspace_id, person_id) references people (workspace_id, id),
    foreign key (workspace_id, conversations_to) references people (workspace_id, id),
    foreign key (workspace_id, drafts_to) references people (workspace_id, id)
);
create index departures_undone on departures (at) where done_at is null;

-- Mail to a closed inbox is refused.
alter table mailboxes add column closed_at timestamptz;

-- Codes of an authenticator app. The secret is sealed; the newest step that was used keeps a code from being used twice.
create table second_factors (
    workspace_id bigint      not null,
    person_id    bigint      not null,
    secret       bytea       not null,
    newest_step  bigint      not null default 0,
    created_at   timestamptz not null,
    primary key (workspace_id, person_id),
    foreign key (workspace_id, person_id) references people (workspace_id, id) on delete cascade
);

-- One that was used is gone.
create table recovery_codes (
    workspace_id bigint not null,
    person_id    bigint not null,
    code_hash    bytea  not null check (octet_length(code_hash) = 32),
    primary key (workspace_id, person_id, code_hash),
    foreign key (workspace_id, person_id) references people (workspace_id, id) on delete cascade
);

-- Who has shown the first factor and not the second. Its token opens nothing but the page that asks for the code.
create table half_sign_ins (
    workspace_id   bigint      not null,
    token_hash     bytea       not null check (octet_length(token_hash) = 32),
    person_id      bigint      not null,
    signed_in_with text        not null check (signed_in_with in ('link', 'password')),
    tries          smallint    not null default 0,
    ends_at        timestamptz not null,
    primary key (workspace_id, token_hash),
    foreign key (workspace_id, person_id) references people (workspace_id, id) on delete cascade
);
create index half_sign_ins_ended on half_sign_ins (ends_at);

-- Whether everybody has to have a second factor.
alter table workspaces add column second_factor_required boolean not null default false;
