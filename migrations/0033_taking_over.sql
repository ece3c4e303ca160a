-- The signature that stands under a person's words in a message of ours: whoever stops the mail and writes on gets the
-- words without it. The version before this one writes none: its mail reads as unsigned.
alter table messages add column signature text;

-- Who else names the bytes of a file that is taken out.
create index written_draft_files_by_blob on written_draft_files (workspace_id, blob);
create index saved_reply_files_by_blob on saved_reply_files (workspace_id, blob);
