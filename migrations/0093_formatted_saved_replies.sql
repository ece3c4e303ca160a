-- How a saved reply is formatted (`html/written` of rookery-reading), empty while it is only text.
alter table saved_replies add column html text not null default '' check (octet_length(html) <= 65536);
