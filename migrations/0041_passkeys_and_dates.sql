-- Passkeys, and how a person reads dates.

create table passkeys (
    workspace_id  bigint      not null,
    id            bigint      not null,
    person_id     bigint      not null,
    -- As the authenticator calls it.
    credential_id bytea       not null check (octet_length(credential_id) between 1 and 1023),
    -- A public key as COSE writes it.
    public_key    bytea       not null check (octet_length(public_key) <= 2048),
    -- Of the authenticator. It counts up, or stays zero.
    counter       bigint      not null,
    name          text        not null check (char_length(name) between 1 and 60),
    created_at    timestamptz not null,
    used_at       timestamptz,
    primary key (workspace_id, id),
    foreign key (workspace_id, person_id) references people (workspace_id, id) on delete cascade
);
create unique index passkeys_credential on passkeys (workspace_id, credential_id);
create index passkeys_person on passkeys (workspace_id, person_id);

-- Challenges that were answered, until they would have ended anyway: none is answered twice.
create table used_challenges (
    workspace_id   bigint      not null references workspaces,
    challenge_hash bytea       not null check (octet_length(challenge_hash) = 32),
    ends_at        timestamptz not null,
    primary key (workspace_id, challenge_hash)
);
create index used_challenges_ended on used_challenges (ends_at);

alter table people
    -- How days are written: 16 Nov 2026, Nov 16, 2026, 16.11.2026 or 2026-11-16.
    add column date_style   text    not null default 'day_month' check (date_style in ('day_month', 'month_day', 'dots', 'iso')),
    -- 4:30 PM rather than 16:30.
    add column twelve_hours boolean not null default false;
