-- How people sign in, and what they chose for themselves.

-- Only a hash of a password is kept: argon2id as text, with its parameters and its salt.
create table passwords (
    workspace_id bigint      not null,
    person_id    bigint      not null,
    hash         text        not null check (hash like '$argon2id$%'),
    changed_at   timestamptz not null,
    primary key (workspace_id, person_id),
    foreign key (workspace_id, person_id) references people (workspace_id, id) on delete cascade
);

-- Links that sign somebody in once. The text of the link is in the mail and nowhere else; a link that was used is gone.
create table sign_in_links (
    workspace_id bigint      not null references workspaces,
    token_hash   bytea       not null check (octet_length(token_hash) = 32),
    person_id    bigint      not null,
    -- It belongs to this address: when the person has another, the link is void.
    email        text        not null check (email = lower(email)),
    ends_at      timestamptz not null,
    primary key (workspace_id, token_hash),
    foreign key (workspace_id, person_id) references people (workspace_id, id) on delete cascade
);
create index sign_in_links_person on sign_in_links (workspace_id, person_id);
create index sign_in_links_ended on sign_in_links (ends_at);

alter table people
    -- An IANA name; without one it is the workspace's.
    add column zone         text check (char_length(zone) between 1 and 64),
    add column theme        text    not null default 'auto' check (theme in ('auto', 'light', 'dark')),
    -- Whether single keys do something in the app.
    add column single_keys  boolean not null default true,
    add column signature    text    not null default '' check (char_length(signature) <= 2000),
    -- The last time they signed in.
    add column signed_in_at timestamptz;

-- Whose address it is: at sign-in nobody has said which workspace they mean.
create index people_by_email on people (email, workspace_id) where removed_at is null;

-- How a session began: who has just opened a link of their own mail box may set a password without the old one.
alter table sessions add column signed_in_with text not null default 'link' check (signed_in_with in ('link', 'password'));
