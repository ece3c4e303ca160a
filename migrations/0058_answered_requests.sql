-- What was answered to requests that came with an Idempotency-Key. The row is written by the transaction of what was done,
-- so either both are there or neither is. The id's time is the row's: it is kept by day, and looked at for 24 hours. No
-- index can hold a key to one row over two days, so requests with the same key take turns by a lock (src/store/answered.rs).
create table answered_requests (
    workspace_id bigint   not null,
    agent_id     bigint   not null,
    key_hash     bytea    not null check (octet_length(key_hash) = 32),
    id           bigint   not null,
    request_hash bytea    not null check (octet_length(request_hash) = 32),
    status       smallint not null check (status between 200 and 299),
    -- The body. One that holds a secret is sealed. Neither is there any more when somebody it named was erased.
    answer       text,
    sealed       bytea,
    primary key (workspace_id, agent_id, key_hash, id),
    check (answer is null or sealed is null)
) partition by range (id);
create table answered_requests_default partition of answered_requests default;

-- The tables that are kept by day, and how many days they have besides today.
create function days_kept(kept text) returns integer language sql immutable as $$
    select case
        when kept in ('events', 'sandbox_mail', 'delivery_log') then 30
        when kept = 'answered_requests' then 1
    end
$$;

-- As before, but for the number of days.
create or replace function keep_day(kept text) returns boolean language plpgsql security definer as $$
declare
    today   constant date := current_day();
    oldest  constant date := today - days_kept(kept);
    missing date;
    over    text;
begin
    if oldest is null then
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
