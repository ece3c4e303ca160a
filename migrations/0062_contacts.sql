-- Contacts have ids and can be listed. Who a contact is follows from the conversations: an address that has one in an
-- audience has a row there, by triggers, so that every writer keeps it, also the version before this one. The id is made of
-- the workspace and the address, so it is the same in every audience and says nothing of inboxes that somebody cannot see.
create table contacts (
    workspace_id bigint not null,
    audience     bigint not null,
    email        text   not null,
    id           bigint not null,
    -- As they last called themselves.
    name         text,
    -- The first conversation they had here: the order of the list.
    since        bigint not null,
    -- Hashes of the words of name and address; null until they are indexed.
    words        bigint[],
    primary key (workspace_id, audience, email)
);
create index contacts_by_id on contacts (workspace_id, id);
create index contacts_by_since on contacts (workspace_id, audience, since);
-- Short, because a search reads all that is not folded in yet.
create index contacts_words on contacts using gin (words) with (gin_pending_list_limit = 256);
create index contacts_unindexed on contacts (workspace_id) where words is null;

create function contact_id(workspace bigint, email text) returns bigint
language sql immutable strict parallel safe as $$
    select ('x' || encode(substr(sha256(convert_to('contact ' || workspace || ' ' || email, 'UTF8')), 1, 8), 'hex'))::bit(64)::bigint
           & 9223372036854775807
$$;

-- A conversation with somebody is there. Whoever is known already is held until the commit, because their last other conversation
-- may be on its way out; whoever just went comes again.
create function contact_comes(workspace bigint, of_audience bigint, address text, called text, conversation bigint) returns void
language plpgsql as $$
declare
    known record;
begin
    loop
        select c.name, c.since into known from contacts c
        where c.workspace_id = workspace and c.audience = of_audience and c.email = address for key share;
        if found then
            if known.since > conversation or (called <> '' and known.name is distinct from called) then
                update contacts
                set name = coalesce(nullif(called, ''), name), words = null, since = least(since, conversation)
                where workspace_id = workspace and audience = of_audience and email = address;
            end if;
            exit;
        end if;
        insert into contacts (workspace_id, audience, email, id, name, since)
        values (workspace, of_audience, address, contact_id(workspace, address), nullif(called, ''), conversation)
        on conflict (workspace_id, audience, email) do nothing;
        exit when found;
    end loop;
end
$$;

-- The last conversation with somebody is gone, or has another contact or none. The row is taken first and the conversations are looked
-- for after, so that one that came meanwhile is seen.
create function contact_goes(workspace bigint, of_audience bigint, address text) returns void language plpgsql as $$
begin
    perform from contacts
    where workspace_id = workspace and audience = of_audience and email = address for update;
    delete from contacts
    where workspace_id = workspace and audience = of_audience and email = address
      and not exists (select from conversations c where c.workspace_id = workspace and c.audience = of_audience
                        and c.contact_email = address);
end
$$;

-- By their addresses, so that two who bring mail of the same people at one moment never wait for each other round about.
create function contacts_come() returns trigger language plpgsql as $$
declare
    one record;
begin
    for one in
        select distinct on (workspace_id, audience, contact_email) workspace_id, audience, contact_email, contact_name, id
        from came where contact_email is not null
        order by workspace_id, audience, contact_email, id desc
    loop
        perform contact_comes(one.workspace_id, one.audience, one.contact_email, one.contact_name, one.id);
    end loop;
    return null;
end
$$;
create trigger conversations_bring_contacts after insert on conversations referencing new table as came
    for each statement execute function contacts_come();

create function contacts_change() returns trigger language plpgsql as $$
begin
    if old.contact_email is not null then
        perform contact_goes(old.workspace_id, old.audience, old.contact_email);
    end if;
    if tg_op = 'UPDATE' and new.contact_email is not null then
        -- It is no news of how they call themselves where they are known.
        perform contact_comes(new.workspace_id, new.audience, new.contact_email, coalesce((
            select name from contacts
            where workspace_id = new.workspace_id and audience = new.audience and email = new.contact_email),
            new.contact_name), new.id);
    end if;
    return null;
end
$$;
create trigger conversations_take_contacts after delete on conversations
    for each row when (old.contact_email is not null) execute function contacts_change();
create trigger conversations_change_contacts after update of contact_email, audience on conversations for each row
    when ((old.contact_email, old.audience) is distinct from (new.contact_email, new.audience))
    execute function contacts_change();

-- Conversations that are indexed already get more terms: who mail is from and to, and that it has files. Such notes have fewer than
-- no tries: the version before this one leaves them alone, and they are taken when nothing else waits.
create index unindexed_conversations_again on unindexed_conversations (workspace_id, conversation_id) where tries < 0;

-- The version before this one may still run when the migrations are done, and index mail without its terms. This one says what it
-- does (search/index.rs, forget); what anybody else takes for done is noted. A later version, which none of before runs beside, can drop it.
create function terms_are_missing() returns trigger language plpgsql as $$
begin
    insert into unindexed_conversations (workspace_id, conversation_id, since, tries, retry_at)
    select old.workspace_id, old.conversation_id, now(), -1, 'infinity'
    where exists (select from conversations where workspace_id = old.workspace_id and id = old.conversation_id)
    on conflict do nothing;
    return null;
end
$$;
create trigger unindexed_messages_without_terms after delete on unindexed_messages for each row
    when (current_setting('rookery.terms', true) is distinct from 'on') execute function terms_are_missing();
