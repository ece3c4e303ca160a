-- Keys can manage webhooks, when they were made with that scope. What a key makes hears nothing more once the key is revoked, in
-- whichever way it ends; a person can start it again.

alter table agents
    drop constraint agents_scopes_check,
    add constraint agents_scopes_check check (
        'read' = any (scopes) and scopes <@ array['read', 'write', 'draft', 'send', 'record', 'webhooks']);

alter table webhooks
    add column agent_id bigint,
    add foreign key (workspace_id, agent_id) references agents (workspace_id, id);

create function stop_webhooks_of_key() returns trigger language plpgsql as $$
begin
    update webhooks set state = 'off', run = run + 1
    where workspace_id = new.workspace_id and agent_id = new.id and state <> 'off' and removed_at is null;
    return null;
end $$;

create trigger webhooks_end_with_their_key after update of revoked_at on agents
    for each row when (old.revoked_at is null and new.revoked_at is not null)
    execute function stop_webhooks_of_key();
