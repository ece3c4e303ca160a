-- Reads that cost the same however much there is.

-- The newest items of a timeline, and those before an item. Events have no other key than their place. No number is
-- below 0: the condition is there so that only a statement that repeats it takes these indexes, and none that looks for
-- one message of a conversation reads all of them because the planner knows too little.
create index messages_timeline on messages (workspace_id, conversation_id, at, item) where item >= 0;
create index notes_timeline on notes (workspace_id, conversation_id, at, item) where item >= 0;
create unique index timeline_events_placed on timeline_events (workspace_id, conversation_id, at, item);
alter table timeline_events drop constraint timeline_events_pkey,
    add constraint timeline_events_pkey primary key using index timeline_events_placed;

-- Since when the oldest has been waiting, of each workspace. Every mail writes a count change, so that has one index.
create index unindexed_conversations_oldest on unindexed_conversations (since) where tries = 0;
create index count_changes_waiting on count_changes (workspace_id, at);
drop index count_changes_by_workspace;

-- Notices that were sent and can be forgotten.
create index notices_sent on notices (sent_at) where sent_at is not null;

-- `audiences` has taken its place, and nothing reads or writes it any more.
alter table tags drop column in_sandbox;

-- Days are made and dropped without anybody waiting. Both need a lock that nobody else may share; while it is waited
-- for, everybody who comes later stands behind it, and one long reader (a backup) would stop all of them. So the wait
-- is short, and what cannot be had is left for the next look. Detaching concurrently would need the tables' owner
-- outside of a transaction, and no default partition.
create or replace function keep_day(kept text) returns boolean language plpgsql security definer as $$
declare
    today   constant date := current_day();
    oldest  constant date := today - 30;
    missing date;
    over    text;
begin
    if kept not in ('events', 'sandbox_mail', 'delivery_log') then
        raise exception '% is not kept by day', kept using errcode = 'invalid_parameter_value';
    end if;
    -- One node at a time; the others have nothing to do here.
    if not pg_try_advisory_xact_lock(8245931949774961011) then
        return false;
    end if;

    select today + ahead into missing from generate_series(-1, 7) as ahead
    where not exists (
        select from pg_inherits join pg_class on pg_class.oid = inhrelid
        where inhparent = kept::regclass and relname = kept || to_char(today + ahead, '_YYYYMMDD'))
    order by ahead limit 1;
    if missing is not null then
        declare
            part constant text := kept || to_char(missing, '_YYYYMMDD');
            low  constant bigint := lowest_id_on(missing);
            high constant bigint := lowest_id_on(missing + 1);
        begin
            execute format('create table %I (like %I including all)', part, kept);
            -- Rows of the day that came before its partition are taken along.
            execute format(
                'with strays as (delete from %I where id >= %s and id < %s returning *)
                 insert into %I select * from strays', kept || '_default', low, high, part);
            execute format('alter table %I attach partition %I for values from (%s) to (%s)', kept, part, low, high);
        end;
        return true;
    end if;

    select relname into over from pg_inherits join pg_class on pg_class.oid = inhrelid
    where inhparent = kept::regclass and relname ~ '_[0-9]{8}$' and to_date(right(relname, 8), 'YYYYMMDD') < oldest
    order by relname limit 1;
    if over is not null then
        execute format('drop table %I', over);
        return true;
    end if;

    execute format('delete from %I where id < %s', kept || '_default', lowest_id_on(oldest));
    return false;
exception when lock_not_available then
    raise warning 'The days of % are in use. They are made and dropped at a later look.', kept;
    return false;
end
$$;
do $$ begin
    execute format('alter function keep_day(text) set search_path = %I, pg_temp', current_schema());
end $$;
alter function keep_day(text) set lock_timeout = '100ms';
