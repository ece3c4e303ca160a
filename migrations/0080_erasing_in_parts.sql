-- Erasing and keeping work in parts that one transaction can carry, and who is in which mail is found by an index (0081), so that
-- a hold costs what the mail of its person costs, and not all mail.

-- Where an erasure is in a conversation that is too long for one transaction: mail from there on (newest first) is done.
alter table erasures
    add column part_of     bigint,
    add column part_before bigint,
    -- The conversation is the contact's own. Its head is empty from the beginning, so the row says it.
    add column part_own    boolean not null default false,
    add constraint erasures_part check ((part_of is null) = (part_before is null)),
    -- Also the version before this one, which knows nothing of parts, cannot end it there.
    add constraint erasures_done_with_parts check (step <> 'done' or part_of is null);

-- Somebody deletes a conversation that is too long for one transaction: what time would have to say does not matter.
alter table trash add column by_hand boolean not null default false;
create index trash_by_time on trash (workspace_id, due_at, conversation_id);
create index merged_conversations_by_contact on merged_conversations (workspace_id, contact_email);

-- Hashes of everybody in a mail, each twice: of the workspace, and of the conversation. Only functions of PostgreSQL itself are
-- called, as an index needs it. What it costs is said too high, so that no plan asks it of every message; and it is not for parallel
-- workers, because starting some for so dear a plan takes a hundred times what the look in the index takes.
create function message_people(workspace bigint, conversation bigint, from_email text, reply_to text, others text[])
returns bigint[] language sql immutable parallel unsafe cost 10000 as $$
    select array(
        select hashtextextended(people.address, seeds.seed)
        from (select lower(from_email) union all select lower(reply_to) union all select unnest(others)) as people (address)
            cross join (values (workspace), (hashint8extended(conversation, workspace))) as seeds (seed)
        where people.address is not null)
$$;

-- Who is in a conversation (0045), by index. Materialized: a plan that hopes to find the first soon reads all mail when there is none.
create or replace function takes_part(workspace bigint, conversation bigint, somebody text) returns boolean
language plpgsql stable as $$
begin
    return exists (select from conversations where workspace_id = workspace and id = conversation and contact_email = somebody)
        or exists (select from merged_conversations
                   where workspace_id = workspace and into_id = conversation and contact_email = somebody)
        or exists (with named as materialized (
                       select 1 from messages
                       where message_people(workspace_id, conversation_id, from_email, reply_to,
                                            to_addresses || cc_addresses || bcc_addresses || also_to)
                             @> array[hashtextextended(somebody, hashint8extended(conversation, workspace))])
                   select from named);
end
$$;

-- Conversations that somebody is in, some more than once: of each kind no more than so many.
create function conversations_with(workspace bigint, somebody text, most integer) returns setof bigint
language plpgsql stable as $$
begin
    return query select id from conversations
        where workspace_id = workspace and contact_email = somebody
          and audience = any (array(select distinct audience from mailboxes where workspace_id = workspace)) limit most;
    return query select into_id from merged_conversations
        where workspace_id = workspace and contact_email = somebody limit most;
    return query with named as materialized (
            select conversation_id from messages
            where message_people(workspace_id, conversation_id, from_email, reply_to,
                                 to_addresses || cc_addresses || bcc_addresses || also_to)
                  @> array[hashtextextended(somebody, workspace)])
        select conversation_id from named limit most;
end
$$;

-- Whether two are in one conversation. It looks at those of the one who is in fewer, and where both are in very many at so many of
-- them: whoever erases is stopped by the hold on each conversation anyway (src/conversations/keeping/holds.rs).
create function are_together(workspace bigint, one text, other text, most integer) returns boolean
language plpgsql stable as $$
declare
    with_other bigint[] := array(select conversations_with(workspace, other, most + 1));
begin
    if cardinality(with_other) <= most then
        return exists (select from (select distinct unnest(with_other)) as those (id)
                       where takes_part(workspace, those.id, one));
    end if;
    return exists (select from (select distinct conversations_with(workspace, one, most)) as those (id)
                   where takes_part(workspace, those.id, other));
end
$$;

-- What time leaves alone (0054), in two halves. Conversations with mail that is still to leave or to be approved are found by the
-- indexes of the few that wait: the mail of a long one is not read for it.
create function conversations_unsent(workspace bigint) returns setof bigint language plpgsql stable rows 100 as $$
begin
    return query select conversation_id from messages
        where workspace_id = workspace and status = 'draft' and author_type is distinct from 'user';
    return query select conversation_id from messages
        where workspace_id = workspace and status = 'draft' and author_type = 'user';
    return query select conversation_id from messages
        where workspace_id = workspace and status in ('scheduled', 'sending');
end
$$;

create function is_booked_or_held(workspace bigint, conversation bigint) returns boolean language plpgsql stable as $$
begin
    return exists (select from bookings b where b.workspace_id = workspace and b.conversation_id = conversation
                     and b.state = 'booked' and b.ends_at > now())
        or is_held(workspace, conversation);
end
$$;
