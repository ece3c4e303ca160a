-- Unread by person.

-- Up to when a person has seen the mail of a conversation. By conversation before person, so that erasing a
-- conversation finds its rows.
create table conversation_reads (
    workspace_id    bigint      not null,
    conversation_id bigint      not null,
    person_id       bigint      not null,
    -- Mail that came later is unread. '-infinity' when the person marked it unread.
    seen_to         timestamptz not null,
    primary key (workspace_id, conversation_id, person_id),
    foreign key (workspace_id, conversation_id) references conversations (workspace_id, id) on delete cascade,
    foreign key (workspace_id, person_id) references people (workspace_id, id)
) with (fillfactor = 85);
