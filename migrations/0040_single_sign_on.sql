-- Signing in with the provider that a workspace's people already have: OpenID Connect.

-- One provider a workspace. The client's secret is sealed.
create table sso_connections (
    workspace_id  bigint      not null primary key references workspaces,
    -- As the provider calls itself, letter for letter.
    issuer        text        not null check (char_length(issuer) between 1 and 2048),
    client_id     text        not null check (char_length(client_id) between 1 and 500),
    client_secret bytea       not null,
    -- Passwords, links by mail and passkeys open nothing.
    required      boolean     not null default false,
    changed_at    timestamptz not null
);

-- Somebody is at the provider and comes back with the state that this is the hash of, in the browser that has the cookie.
-- What is sent along and has to come back is made of both, so that nothing of it stands here. One that was used is gone.
create table sso_attempts (
    workspace_id bigint      not null references workspaces,
    state_hash   bytea       not null check (octet_length(state_hash) = 32),
    browser_hash bytea       not null check (octet_length(browser_hash) = 32),
    -- The provider that was asked: another one's answer is none.
    issuer       text        not null,
    -- The page to go on with.
    next         text        check (char_length(next) <= 500),
    -- Somebody who is in shows once more who they are: the provider was asked to ask them.
    again        boolean     not null default false,
    ends_at      timestamptz not null,
    primary key (workspace_id, state_hash)
);
create index sso_attempts_ended on sso_attempts (ends_at);

-- Whose account at the provider is whose here. It is made at the first sign-in, by a confirmed address; from then on the
-- address does not matter.
create table sso_accounts (
    workspace_id bigint      not null,
    issuer       text        not null,
    subject      text        not null check (char_length(subject) between 1 and 255),
    person_id    bigint      not null,
    created_at   timestamptz not null,
    primary key (workspace_id, issuer, subject),
    foreign key (workspace_id, person_id) references people (workspace_id, id) on delete cascade
);
-- A person has one account there.
create unique index sso_accounts_person on sso_accounts (workspace_id, person_id);

alter table sessions drop constraint sessions_signed_in_with_check;
alter table sessions add constraint sessions_signed_in_with_check
    check (signed_in_with in ('link', 'password', 'sso', 'passkey'));
-- When this person showed who they are. A provider may have let them through without asking; nothing when it does not say.
alter table sessions add column proved_at timestamptz;
