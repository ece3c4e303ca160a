-- The formatting of what somebody writes (`html/written` of rookery-reading), empty while it is only text.
alter table written_drafts add column html text not null default '' check (octet_length(html) <= 204800);

-- Of a mail that was written in the app: the words alone, in the form that is kept. All other HTML is as it came.
alter table message_html add column formatted boolean not null default false;
