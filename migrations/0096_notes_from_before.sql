-- no-transaction
-- Notes that are there already are queued for search, ten thousand at a time, so that nobody waits for it and a stop in between
-- loses nothing. Safe to repeat.
do $migration$
declare
    last notes;
    upto notes;
begin
    last.workspace_id := -1;
    last.conversation_id := -1;
    last.id := -1;
    loop
        upto := null;
        select batch.workspace_id, batch.conversation_id, batch.id
        into upto.workspace_id, upto.conversation_id, upto.id
        from (select workspace_id, conversation_id, id from notes
              where (workspace_id, conversation_id, id) > (last.workspace_id, last.conversation_id, last.id)
              order by workspace_id, conversation_id, id limit 10000) batch
        order by workspace_id desc, conversation_id desc, id desc limit 1;
        exit when upto.id is null;
        -- Conversations are held meanwhile, so that none of them goes.
        insert into unindexed_notes (workspace_id, conversation_id, note_id, since, tries, retry_at)
        select n.workspace_id, n.conversation_id, n.id, n.at, -1, 'infinity'
        from notes n join conversations c on c.workspace_id = n.workspace_id and c.id = n.conversation_id
        where (n.workspace_id, n.conversation_id, n.id) > (last.workspace_id, last.conversation_id, last.id)
          and (n.workspace_id, n.conversation_id, n.id) <= (upto.workspace_id, upto.conversation_id, upto.id)
        for key share of c
        on conflict do nothing;
        commit;
        last := upto;
    end loop;
end
$migration$;
