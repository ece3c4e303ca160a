-- Rules that act on mail as it comes in, in the order of their places. What a rule is made of is one JSON object
-- (src/rules/definition.rs). A rule acts on the team's inboxes and on the private ones of whoever changed it last.
create table rules (
    workspace_id bigint      not null references workspaces,
    id           bigint      not null,
    place        integer     not null,
    name         text        not null check (char_length(name) between 1 and 60),
    is_on        boolean     not null,
    definition   jsonb       not null check (jsonb_typeof(definition) = 'object'),
    maker_id     bigint      not null,
    created_at   timestamptz not null,
    changed_at   timestamptz not null,
    primary key (workspace_id, id),
    foreign key (workspace_id, maker_id) references people (workspace_id, id)
);
-- What every mail asks for: whether there is one that is on.
create index rules_on on rules (workspace_id, place) where is_on;

-- When rules acted, for the count of the last days. Rows are only added, so no mail waits for another's counter. With the
-- audience of the conversation: how often a rule met private mail is told to its owner alone.
create table rule_runs (
    workspace_id bigint      not null,
    rule_id      bigint      not null,
    audience     bigint      not null,
    at           timestamptz not null,
    foreign key (workspace_id, rule_id) references rules (workspace_id, id) on delete cascade
);
create index rule_runs_newest on rule_runs (workspace_id, rule_id, audience, at);
create index rule_runs_by_time on rule_runs (at);

-- A rule can tell a person of a conversation.
alter table notifications drop constraint notifications_reason_check,
    add constraint notifications_reason_check
        check (reason in ('assigned', 'mentioned', 'replied', 'noted', 'ruled')) not valid;
