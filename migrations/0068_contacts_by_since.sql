-- no-transaction
-- For those who say that they want the order; see 0067.
create index concurrently if not exists contacts_by_since on contacts (workspace_id, audience, since) where since > 0;
