-- no-transaction
-- Whether a person wrote to us by an address, in whosever conversation: what a sending service says of them counts for nothing.
create index concurrently if not exists messages_from on messages (workspace_id, lower(from_email))
    where direction = 'inbound' and not automatic;
