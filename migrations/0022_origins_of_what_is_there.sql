-- no-transaction
-- Gives every message of ours its origin, ten thousand messages at a time, so that nobody waits for it and a stop in
-- between loses nothing; then looks whether all rows hold what they must. Safe to repeat.
do $$
declare
    last messages;
    upto messages;
begin
    last.workspace_id := -1;
    last.conversation_id := -1;
    last.id := -1;
    loop
        upto := null;
        select batch.workspace_id, batch.conversation_id, batch.id
        into upto.workspace_id, upto.conversation_id, upto.id
        from (select workspace_id, conversation_id, id from messages
              where (workspace_id, conversation_id, id) > (last.workspace_id, last.conversation_id, last.id)
              order by workspace_id, conversation_id, id limit 10000) batch
        order by workspace_id desc, conversation_id desc, id desc limit 1;
        exit when upto.id is null;
        update messages
        set origin = case author_type when 'user' then 'person' when 'agent' then 'agent' else 'service' end
        where (workspace_id, conversation_id, id) > (last.workspace_id, last.conversation_id, last.id)
          and (workspace_id, conversation_id, id) <= (upto.workspace_id, upto.conversation_id, upto.id)
          and direction = 'outbound' and origin is null;
        commit;
        last := upto;
    end loop;
    alter table messages validate constraint messages_hold;
end
$$;
