-- The same as of inboxes (0072): since when mail to a further address of an inbox is not taken, because its domain is not the
-- workspace's.
alter table mailbox_aliases add column unproven_at timestamptz;
-- Whether any inbox has an address: mail to it is asked to come again later while nobody has its domain, and who sends it does not
-- know the workspace.
create index mailboxes_by_address on mailboxes (address) where kind <> 'sandbox' and closed_at is null;
create index mailbox_aliases_by_address on mailbox_aliases (address);
