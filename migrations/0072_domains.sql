-- A domain has one workspace (docs/decisions/whose-domain.md). `assigned`: the operator gave it to it. `dns`: a record of the
-- domain named it. `kept`: it was in use before domains had to be proven, or was typed where there was one workspace only.
-- Filled by the program (`Directory::keep_domains_in_use`), because PostgreSQL cannot write a domain in its ASCII form.
create table directory.domains (
    domain       text   primary key check (domain = lower(domain) and domain ~ '^[ -~]+$' and domain !~ '\.$'),
    workspace_id bigint not null references directory.workspaces,
    proof        text   not null check (proof in ('kept', 'assigned', 'dns'))
);
create index domains_workspace on directory.domains (workspace_id);

-- What was there before domains had to be proven stays where it is, until somebody proves the domain or the operator
-- assigns it. A node of the version before does not know the column, and what it writes is kept by nobody.
alter table directory.addresses add column kept boolean not null default true;
alter table directory.addresses alter column kept set default false;

-- Since when the inbox neither receives nor sends, because its domain is not the workspace's. The directory decides; this is
-- what it said last, so that whoever writes is told before anything is to leave.
alter table mailboxes add column unproven_at timestamptz;
-- Mail to such an inbox is asked to come again later; who writes does not know the workspace.
create index mailboxes_unproven on mailboxes (address) where unproven_at is not null;
