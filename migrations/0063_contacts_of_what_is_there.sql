-- no-transaction
-- Gives everybody their row who has a conversation already, and notes each conversation for the terms that it lacks, a thousand
-- at a time, so that nobody waits for it and a stop in between loses nothing. Conversations are held meanwhile, so that none goes
-- without its contact. Safe to repeat.
do $$
declare
    last_workspace bigint := -1;
    last_id bigint := -1;
    next_workspace bigint;
    next_id bigint;
    one record;
begin
    loop
        next_id := null;
        -- By their addresses, as whoever brings mail does.
        for one in
            select * from (
                select workspace_id, audience, contact_email, contact_name, id from conversations
                where (workspace_id, id) > (last_workspace, last_id)
                order by workspace_id, id limit 1000 for key share) batch
            order by workspace_id, audience, contact_email, id
        loop
            if next_id is null or (one.workspace_id, one.id) > (next_workspace, next_id) then
                next_workspace := one.workspace_id;
                next_id := one.id;
            end if;
            if one.contact_email is not null then
                perform contact_comes(one.workspace_id, one.audience, one.contact_email, one.contact_name, one.id);
            end if;
        end loop;
        exit when next_id is null;
        insert into unindexed_conversations (workspace_id, conversation_id, since, tries, retry_at)
        select workspace_id, id, now(), -1, 'infinity' from conversations
        where (workspace_id, id) > (last_workspace, last_id) and (workspace_id, id) <= (next_workspace, next_id)
        on conflict do nothing;
        if last_id = -1 then
            -- What looks for somebody was planned when there was nobody, by whichever index.
            analyze contacts;
        end if;
        commit;
        last_workspace := next_workspace;
        last_id := next_id;
    end loop;
end
$$;
