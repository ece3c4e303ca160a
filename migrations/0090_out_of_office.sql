-- The period in which an inbox answers automatically. While there is one, `is_on` is false, so that the version before, which
-- knows no periods, sends nothing; it is on when `dated_at` is the time of the last change, which that version moves by saving.
alter table auto_replies
    add column starts_at timestamptz,
    add column ends_at timestamptz check (ends_at > starts_at),
    add column dated_at timestamptz;

-- When somebody is out of office, and what customers are answered meanwhile; empty for nothing.
alter table people
    add column away_from timestamptz,
    add column away_until timestamptz check (away_until > away_from),
    add column away_text text not null default '' check (char_length(away_text) <= 5000),
    add constraint people_away check ((away_from is null) = (away_until is null));
create index people_away on people (workspace_id, away_until) where away_until is not null;

-- Whom the text of somebody away was sent to, until their period ended as it was then. The row is what two mails of one sender
-- that come at once wait for.
create table away_replied (
    workspace_id bigint      not null,
    person_id    bigint      not null,
    address      text        not null check (address = lower(address)),
    at           timestamptz not null,
    ends_at      timestamptz not null,
    primary key (workspace_id, person_id, address),
    foreign key (workspace_id, person_id) references people (workspace_id, id)
);
create index away_replied_by_end on away_replied (ends_at);
