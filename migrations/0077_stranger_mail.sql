-- Mail to people who are not on the team (one-time codes, invitations, mail about bookings) is counted in rows that all nodes
-- share: by workspace, by page, by address and by network. Addresses and networks stand here as numbers made of their hash.
create table stranger_mail (
    workspace_id bigint      not null references workspaces,
    what         text        not null,
    subject      bigint      not null,
    n            integer     not null check (n > 0),
    ends_at      timestamptz not null,
    primary key (workspace_id, what, subject)
);
create index stranger_mail_over on stranger_mail (ends_at);

-- What is due is claimed in turns: the first of every workspace, then the second. Sign-in mail comes before everything else.
create index notices_due_by_workspace on notices (workspace_id, due_at) where due_at is not null;
create index notices_sign_in on notices (workspace_id, due_at)
    where due_at is not null and kind in ('sign_in', 'sign_in_by_sso');
create index booking_mail_due_by_workspace on booking_mail (workspace_id, due_at) where due_at is not null;
create index sandbox_answers_due_by_workspace on sandbox_answers (workspace_id, due_at);
create index busy_sources_due_by_workspace on busy_sources (workspace_id, due_at);
