-- Bookings: who can be booked, when, for what, and what was booked (6.2). Nothing here needs an extension: a number
-- as a range of one gives GiST its equality.

-- A person who can be booked. The row is the lock of the host's calendar.
create table booking_hosts (
    workspace_id bigint not null,
    person_id    bigint not null,
    time_zone    text   not null,
    primary key (workspace_id, person_id),
    foreign key (workspace_id, person_id) references people (workspace_id, id)
);

-- Weekly hours in the host's zone, in minutes of the day; Monday is 1.
create table booking_hours (
    workspace_id bigint   not null,
    person_id    bigint   not null,
    weekday      smallint not null check (weekday between 1 and 7),
    opens        smallint not null check (opens >= 0),
    closes       smallint not null check (closes > opens and closes <= 1440),
    primary key (workspace_id, person_id, weekday, opens),
    foreign key (workspace_id, person_id) references booking_hosts on delete cascade
);

-- Exceptions: this day has these hours instead, or none (both 0).
create table booking_days (
    workspace_id bigint   not null,
    person_id    bigint   not null,
    day          date     not null,
    opens        smallint not null default 0,
    closes       smallint not null default 0,
    primary key (workspace_id, person_id, day, opens),
    check (closes >= opens and opens >= 0 and closes <= 1440),
    foreign key (workspace_id, person_id) references booking_hosts on delete cascade
);

create table booking_types (
    workspace_id   bigint      not null references workspaces,
    id             bigint      not null,
    -- Invitations come from this inbox.
    mailbox_id     bigint      not null,
    slug           text        not null check (slug ~ '^[a-z0-9]([a-z0-9-]{0,58}[a-z0-9])?$'),
    name           text        not null check (char_length(name) between 1 and 100),
    about          text        not null default '' check (char_length(about) <= 2000),
    place          text        not null default '' check (char_length(place) <= 500),
    minutes        smallint    not null check (minutes between 5 and 480),
    step           smallint    not null default 15 check (step between 5 and 240),
    before_minutes smallint    not null default 0 check (before_minutes between 0 and 240),
    after_minutes  smallint    not null default 0 check (after_minutes between 0 and 240),
    notice_minutes integer     not null default 240 check (notice_minutes between 0 and 43200),
    horizon_days   smallint    not null default 60 check (horizon_days between 1 and 365),
    daily_limit    smallint    check (daily_limit between 1 and 100),
    remind_minutes integer     default 1440 check (remind_minutes between 15 and 10080),
    questions      jsonb       not null default '[]'
        check (jsonb_typeof(questions) = 'array' and jsonb_array_length(questions) <= 5),
    embed_origins  text[]      not null default '{}' check (cardinality(embed_origins) <= 20),
    state          text        not null default 'active' check (state in ('active', 'paused', 'removed')),
    created_at     timestamptz not null,
    primary key (workspace_id, id),
    foreign key (workspace_id, mailbox_id) references mailboxes (workspace_id, id)
);
create unique index booking_types_slug on booking_types (workspace_id, slug) where state <> 'removed';

-- Several hosts take turns: of those that are free, the one booked longest ago.
create table booking_type_hosts (
    workspace_id   bigint not null,
    type_id        bigint not null,
    person_id      bigint not null,
    last_booked_at timestamptz,
    primary key (workspace_id, type_id, person_id),
    foreign key (workspace_id, type_id) references booking_types (workspace_id, id) on delete cascade,
    foreign key (workspace_id, person_id) references booking_hosts
);

create table bookings (
    workspace_id    bigint      not null,
    id              bigint      not null,
    type_id         bigint      not null,
    host_id         bigint      not null,
    conversation_id bigint,
    -- One UID in calendars, however often it moves.
    series_id       bigint      not null,
    sequence        integer     not null default 0,
    starts_at       timestamptz not null,
    ends_at         timestamptz not null,
    -- With the buffers of its type.
    held            tstzrange   not null,
    state           text        not null default 'booked' check (state in ('booked', 'moved', 'cancelled')),
    ended_at        timestamptz,
    ended_by        text        check (ended_by in ('visitor', 'host', 'reply', 'erasure')),
    reason          text        check (char_length(reason) <= 500),
    -- A cancellation was taken back; that is possible once.
    is_back         boolean     not null default false,
    name            text        check (char_length(name) <= 100),
    email           text        check (email = lower(email)),
    note            text        check (char_length(note) <= 2000),
    answers         jsonb,
    time_zone       text,
    -- What the visitor's calendar program answered.
    rsvp            text        check (rsvp in ('accepted', 'tentative')),
    link_generation integer     not null default 0,
    -- Of the form that made it, so that a second press of its button finds it.
    press           text        check (char_length(press) <= 64),
    created_at      timestamptz not null,
    primary key (workspace_id, id),
    unique (workspace_id, series_id, sequence),
    foreign key (workspace_id, type_id) references booking_types (workspace_id, id),
    foreign key (workspace_id, host_id) references booking_hosts,
    foreign key (workspace_id, conversation_id) references conversations (workspace_id, id)
        on delete set null (conversation_id),
    check (ends_at > starts_at and held @> tstzrange(starts_at, ends_at) and lower_inc(held) and not upper_inc(held)),
    check ((state = 'booked') = (ended_at is null)),
    constraint bookings_never_overlap exclude using gist (
        int8range(workspace_id, workspace_id, '[]') with =, int8range(host_id, host_id, '[]') with =, held with &&
    ) where (state = 'booked')
);
create index bookings_of_host on bookings (workspace_id, host_id, starts_at) where state = 'booked';
create index bookings_to_come on bookings (workspace_id, starts_at, id) where state = 'booked';
create index bookings_of_address on bookings (workspace_id, email) where email is not null;
create index bookings_of_conversation on bookings (workspace_id, conversation_id) where conversation_id is not null;
-- What a visitor has just cancelled and can still take back.
create index bookings_let_go on bookings (workspace_id, host_id, ended_at)
    where state = 'cancelled' and ended_by = 'visitor';

-- Mail about a booking: a row for each that is to leave, written with the change it tells of. Null: it has left.
create table booking_mail (
    workspace_id bigint      not null,
    booking_id   bigint      not null,
    recipient    text        not null check (recipient in ('visitor', 'host')),
    kind         text        not null check (kind in ('invitation', 'cancellation', 'reminder')),
    due_at       timestamptz,
    claim        integer     not null default 0,
    tries        smallint    not null default 0,
    primary key (workspace_id, booking_id, recipient, kind),
    foreign key (workspace_id, booking_id) references bookings (workspace_id, id) on delete cascade
);
create index booking_mail_due on booking_mail (due_at) where due_at is not null;

-- A host's other calendars. The address is sealed: whoever knows it reads the calendar.
create table busy_sources (
    workspace_id  bigint      not null,
    person_id     bigint      not null,
    id            bigint      not null,
    kind          text        not null check (kind in ('feed', 'caldav')),
    url           bytea       not null,
    due_at        timestamptz not null,
    claim         integer     not null default 0,
    read_at       timestamptz,
    failing_since timestamptz,
    -- Why, in words that name neither its address nor what is in it.
    problem       text,
    told_at       timestamptz,
    primary key (workspace_id, person_id, id),
    foreign key (workspace_id, person_id) references booking_hosts on delete cascade
);
create index busy_sources_due on busy_sources (due_at);

create table busy_times (
    workspace_id bigint      not null,
    person_id    bigint      not null,
    source_id    bigint      not null,
    starts_at    timestamptz not null,
    ends_at      timestamptz not null check (ends_at > starts_at),
    primary key (workspace_id, person_id, starts_at, source_id),
    foreign key (workspace_id, person_id, source_id) references busy_sources on delete cascade
);

-- One-time codes by mail, for booking pages and secure pages. Only a keyed hash is kept.
create table one_time_codes (
    workspace_id bigint      not null references workspaces,
    purpose      text        not null check (purpose in ('booking', 'secure')),
    subject_id   bigint      not null,
    address      text        not null,
    code_hash    bytea       not null check (octet_length(code_hash) = 32),
    tries        smallint    not null default 0 check (tries between 0 and 5),
    sent_at      timestamptz not null,
    expires_at   timestamptz not null,
    -- Asked again while it is good, the same code is mailed again.
    mailed_at    timestamptz not null,
    primary key (workspace_id, purpose, subject_id, address),
    check (expires_at <= sent_at + interval '15 minutes')
);
create index one_time_codes_over on one_time_codes (expires_at);

-- Time also leaves alone what a booking that is still to come belongs to (0045).
create or replace function is_kept(workspace bigint, conversation bigint) returns boolean language plpgsql stable as $$
begin
    return exists (select from messages m where m.workspace_id = workspace and m.conversation_id = conversation
                     and m.status in ('draft', 'scheduled', 'sending'))
        or exists (select from bookings b where b.workspace_id = workspace and b.conversation_id = conversation
                     and b.state = 'booked' and b.ends_at > now())
        or is_held(workspace, conversation);
end
$$;
