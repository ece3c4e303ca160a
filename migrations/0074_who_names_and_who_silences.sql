-- A contact is called as mail that their domain confirmed calls them (DMARC): mail that only claims to be theirs gives them a name
-- while they have none that was confirmed, and takes no confirmed one away. A name that the team gave counts as confirmed.
alter table contacts add column name_confirmed boolean not null default false;

-- Whether the name of a conversation's contact can be believed: its first message is ours, or confirmed mail, or it has none yet.
create function contact_is_confirmed(workspace bigint, conversation bigint) returns boolean
language sql stable as $$
    select coalesce((
        select direction = 'outbound' or coalesce(verdict ->> 'dmarc' = 'pass', false) from messages
        where workspace_id = workspace and conversation_id = conversation and item >= 0
        order by at, item limit 1), true)
$$;

create function contact_comes(
    workspace bigint, of_audience bigint, address text, called text, conversation bigint, confirmed boolean) returns void
language plpgsql as $$
declare
    known record;
    renames boolean;
    confirms boolean;
begin
    loop
        select c.name, c.since, c.name_confirmed into known from contacts c
        where c.workspace_id = workspace and c.audience = of_audience and c.email = address for key share;
        if found then
            renames := called <> '' and known.name is distinct from called
                and (confirmed or known.name is null or not known.name_confirmed);
            confirms := called <> '' and confirmed and not known.name_confirmed;
            if known.since > conversation or renames or confirms then
                update contacts
                set name = case when renames then called else name end,
                    name_confirmed = name_confirmed or coalesce(confirms, false),
                    words = case when known.since > conversation or renames then null else words end,
                    since = least(since, conversation)
                where workspace_id = workspace and audience = of_audience and email = address;
            end if;
            exit;
        end if;
        insert into contacts (workspace_id, audience, email, id, name, since, name_confirmed)
        values (workspace, of_audience, address, contact_id(workspace, address), nullif(called, ''), conversation,
                coalesce(called <> '' and confirmed, false))
        on conflict (workspace_id, audience, email) do nothing;
        exit when found;
    end loop;
end
$$;

create or replace function contacts_come() returns trigger language plpgsql as $$
declare
    one record;
begin
    for one in
        select distinct on (workspace_id, audience, contact_email) workspace_id, audience, contact_email, contact_name, id
        from came where contact_email is not null
        order by workspace_id, audience, contact_email, id desc
    loop
        perform contact_comes(one.workspace_id, one.audience, one.contact_email, one.contact_name, one.id,
                              contact_is_confirmed(one.workspace_id, one.id));
    end loop;
    return null;
end
$$;

create or replace function contacts_change() returns trigger language plpgsql as $$
begin
    if old.contact_email is not null then
        perform contact_goes(old.workspace_id, old.audience, old.contact_email);
    end if;
    if tg_op = 'UPDATE' and new.contact_email is not null then
        -- It is no news of how they call themselves where they are known.
        perform contact_comes(new.workspace_id, new.audience, new.contact_email, coalesce((
            select name from contacts
            where workspace_id = new.workspace_id and audience = new.audience and email = new.contact_email),
            new.contact_name), new.id,
            not exists (
                select from contacts
                where workspace_id = new.workspace_id and audience = new.audience and email = new.contact_email)
            and contact_is_confirmed(new.workspace_id, new.id));
    end if;
    return null;
end
$$;

-- A service that sends an app's mail said so, and nothing that came back to us: it is over when the person writes to us.
alter table suppressed_addresses add column by_service boolean not null default false;
