-- A picture within the text of a draft: it leaves with the mail only while the text shows it, and is in no list of files.
alter table written_draft_files add column inline boolean not null default false;
