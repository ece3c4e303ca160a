-- What a row of the two busiest tables must hold, each as one function. PostgreSQL reads the text of every check
-- anew for every statement that writes the table; the twenty-six that stood here cost as much as a mail's rows.
-- A function is read once by each connection. As with checks of their own, what is null passes.

do $$
declare
    old record;
begin
    for old in select conrelid::regclass as of_table, conname from pg_constraint
               where contype = 'c' and conrelid in ('conversations'::regclass, 'messages'::regclass) loop
        execute format('alter table %s drop constraint %I', old.of_table, old.conname);
    end loop;
end
$$;

create function conversation_holds(
    status text, snoozed_until timestamptz, announced_turn text, assignee_type text, assignee_id bigint, urgency text,
    risk text, risk_reasons text[], held_at timestamptz, subject text, snippet text, reference text
) returns boolean language plpgsql immutable as $$
begin
    return status in ('open', 'waiting', 'closed')
        and (snoozed_until is null or status <> 'closed')
        and announced_turn in ('ours', 'theirs', 'done')
        and assignee_type in ('user', 'agent')
        and (assignee_id = 0) = (assignee_type is null)
        and urgency in ('low', 'normal', 'high')
        and (risk is not null or (risk_reasons = '{}' and held_at is null))
        and cardinality(risk_reasons) <= 3
        and char_length(subject) between 1 and 500
        and char_length(snippet) <= 200
        and reference ~ '^[a-z0-9_-]{1,40}$' and reference ~ '[0-9]';
end
$$;
alter table conversations add constraint conversations_hold check (conversation_holds(
    status, snoozed_until, announced_turn, assignee_type, assignee_id, urgency, risk, risk_reasons, held_at, subject,
    snippet, reference));

create function message_holds(
    direction text, status text, sent_at timestamptz, sends_at timestamptz, due_at timestamptz, author_type text,
    author_id bigint, content_hash bytea, id_hash bigint, raw bytea, raw_blob text, summary text, verdict jsonb
) returns boolean language plpgsql immutable as $$
begin
    return direction in ('inbound', 'outbound')
        and (direction = 'inbound') = (status is null)
        and (direction = 'inbound') = (content_hash is not null and id_hash is not null)
        and status in ('draft', 'scheduled', 'sending', 'sent', 'failed')
        and (status <> 'scheduled' or sends_at is not null)
        and (status <> 'sending' or sends_at is not null)
        and (status <> 'sent' or sent_at is not null)
        and (sends_at is null or direction = 'outbound')
        and ((status in ('scheduled', 'sending')) is true) = (due_at is not null)
        and author_type in ('user', 'agent')
        and (author_type is null) = (author_id is null)
        and (direction = 'outbound' or author_type is null)
        and (raw is null or raw_blob is null)
        and char_length(summary) <= 500
        and jsonb_typeof(verdict) = 'object';
end
$$;
alter table messages add constraint messages_hold check (message_holds(
    direction, status, sent_at, sends_at, due_at, author_type, author_id, content_hash, id_hash, raw, raw_blob, summary,
    verdict));

-- Mail is stored compressed, and lz4 costs a fraction of the older way. Where PostgreSQL was built without it, the
-- older way stays.
do $$
begin
    alter table messages alter column text set compression lz4, alter column whole_text set compression lz4,
        alter column raw set compression lz4;
exception when feature_not_supported then
    null;
end
$$;
