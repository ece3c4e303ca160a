-- How many seconds a person's own mail can be taken back, as they chose. The service's undo window is the most.
alter table people add column undo_seconds integer not null default 20 check (undo_seconds between 0 and 600);
-- A person wrote and sent it themselves. What they sent again, asked for again or approved is not that.
alter table messages add column composed boolean not null default false;
