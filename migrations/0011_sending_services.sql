-- Connections to email-sending services (specification 4.13.4): a service tells which mail an app sent through it,
-- and gives that mail's words when someone it went to has replied.

create table sending_services (
    workspace_id    bigint      not null references workspaces,
    id              bigint      not null,
    maker_id        bigint      not null,
    name            text        not null check (char_length(name) between 1 and 100),
    -- Where the words of a mail are; {id} stands for its Message-ID.
    content_url     text        not null check (char_length(content_url) <= 2100),
    -- Both encrypted with a key made from the server's secret key: what the service signs with, and what opens its
    -- own door. They are gone when it is disconnected.
    secret          bytea,
    token           bytea,
    created_at      timestamptz not null,
    disconnected_at timestamptz,
    primary key (workspace_id, id),
    foreign key (workspace_id, maker_id) references people (workspace_id, id),
    check ((disconnected_at is null) = (secret is not null)),
    check ((disconnected_at is null) = (token is not null))
);

-- A service does not know the app's reference, but when the mail left. The words are due from the first reply of a
-- person on; `words_claim` counts the tries, and only the newest claim may write what came of it.
alter table app_mail
    alter column reference drop not null,
    add column sent_at      timestamptz,
    add column service_id   bigint,
    add column words_due_at timestamptz,
    add column words_claim  integer not null default 0,
    add foreign key (workspace_id, service_id) references sending_services (workspace_id, id),
    add constraint app_mail_services_are_live check (service_id is null or livemode),
    add constraint app_mail_no_words_before_a_reply check
        (service_id is null or conversation_id is not null or (body_text is null and body_html is null)),
    add constraint app_mail_words_due_after_a_reply check
        (words_due_at is null or (service_id is not null and conversation_id is not null));
create index app_mail_words_due on app_mail (words_due_at) where words_due_at is not null;

-- How much mail of the service's own an address got since a time, so that two machines cannot write to each other
-- for ever.
create table automatic_mail (
    workspace_id bigint      not null references workspaces,
    livemode     boolean     not null,
    address      text        not null check (address = lower(address)),
    since        timestamptz not null,
    n            integer     not null,
    primary key (workspace_id, livemode, address)
);
create index automatic_mail_oldest on automatic_mail (workspace_id, since);

-- Up to this day, the raw form of received mail has been dropped.
alter table workspaces add column raw_dropped date;
