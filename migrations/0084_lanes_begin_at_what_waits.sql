-- Nothing that waits in the lane is due before this. A look for what is due begins here and not at what was delivered before,
-- which stays in the index while somebody's snapshot is open (0082). Whoever adds deliveries moves it back, holding the lane;
-- whoever gives the lane back moves it on, but never to less than a minute ago: the version before does not move it back.
alter table webhook_lanes add column none_before timestamptz not null default '2000-01-01 00:00Z';
