-- Sending services by their own hooks: which service a connection is to, how it does, and what it reported lately.

-- A service that signs with a key of its own is connected before that key is known, and one that keeps no words has no
-- token. The old secret is good for a day after it was replaced.
alter table sending_services drop constraint sending_services_check;
alter table sending_services drop constraint sending_services_check1;
alter table sending_services
    add column provider       text        not null default 'own'
        check (provider in ('own', 'postmark', 'resend', 'ses', 'mailgun', 'sendgrid')),
    add column old_secret     bytea,
    add column rotated_at     timestamptz,
    add column paused_at      timestamptz,
    add column last_report_at timestamptz,
    add column last_error     text        check (char_length(last_error) <= 300),
    add column last_error_at  timestamptz,
    -- Reports of one day, in UTC.
    add column day            date,
    add column day_count      integer     not null default 0,
    add constraint sending_services_ended check
        (disconnected_at is null or (secret is null and old_secret is null and token is null)),
    add constraint sending_services_rotated check ((old_secret is null) = (rotated_at is null));

-- What the service calls the mail: some reports have only that, and its words are asked for by it.
alter table app_mail add column service_ref text check (char_length(service_ref) <= 200);
create index app_mail_by_service_ref on app_mail (workspace_id, service_id, service_ref) where service_ref is not null;

-- The newest reports of a connection and what became of each. A bounce or complaint of a mail that is not on record waits
-- until the mail is.
create table service_reports (
    workspace_id bigint      not null references workspaces,
    id           bigint      not null,
    service_id   bigint      not null,
    at           timestamptz not null,
    kind         text        not null check (kind in ('sent', 'delivered', 'bounced', 'failed', 'complained', 'none')),
    message_id   text        not null check (char_length(message_id) <= 998),
    address      text        check (address = lower(address)),
    outcome      text        not null check (outcome in ('noted', 'matched', 'suppressed', 'unknown', 'refused')),
    why          text        not null default '' check (char_length(why) <= 300),
    waits        boolean     not null default false,
    primary key (workspace_id, id),
    foreign key (workspace_id, service_id) references sending_services (workspace_id, id)
);
create index service_reports_newest on service_reports (workspace_id, service_id, waits, id);
create index service_reports_waiting on service_reports (workspace_id, service_id, message_id) where waits;

-- Reports that were taken, by a hash of the service's own id: the same one again changes nothing.
create table seen_reports (
    workspace_id bigint      not null references workspaces,
    service_id   bigint      not null,
    key          bytea       not null check (octet_length(key) = 16),
    until        timestamptz not null,
    primary key (workspace_id, service_id, key)
);
create index seen_reports_until on seen_reports (until);
