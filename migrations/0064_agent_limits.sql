-- How many messages an agent may send by itself in a day, and how many drafts it may write; daily_cap is of both together.
-- None: no limit of its own.
alter table agents
    add column daily_sends  integer check (daily_sends >= 0),
    add column daily_drafts integer check (daily_drafts >= 0);
