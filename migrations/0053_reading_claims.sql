-- Documents are claimed a few of each workspace at a time, so that one workspace's flood does not delay the others'.
drop index unread_documents_due;
create index unread_documents_due on unread_documents (workspace_id, due_at);
