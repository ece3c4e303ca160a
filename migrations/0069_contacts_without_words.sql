-- no-transaction
-- Contacts that wait for their words, in the order in which they are taken. An index of workspaces alone left the order to the key:
-- each batch then read past everybody who had words already, and in a workspace of some hundred thousand it was never done.
create index concurrently if not exists contacts_without_words on contacts (workspace_id, audience, email) where words is null;
