-- Days are made and dropped by a function, so that the role the service runs as need not own the tables. It takes
-- nothing but the name of one of the tables that are kept by day: which days are made and dropped is its own affair
-- and the database's clock's, so nobody can make it drop a day that is not over.

-- The day it is. On its own, so that tests can have days of their own.
create function current_day() returns date language sql stable as $$
    select (clock_timestamp() at time zone 'UTC')::date
$$;

-- The lowest id of a day: milliseconds since 2020 above 22 random bits (src/ids.rs).
create function lowest_id_on(day date) returns bigint language sql immutable as $$
    select greatest((extract(epoch from day)::bigint * 1000) - 1577836800000, 0) << 22
$$;

-- One step: makes one missing day, or drops one that is over, or removes strays of such days from the default
-- partition. True when there may be more to do: each step is a transaction of its own, so that no lock is held long.
create function keep_day(kept text) returns boolean language plpgsql security definer as $$
declare
    today   constant date := current_day();
    oldest  constant date := today - 30;
    missing date;
    over    text;
begin
    if kept not in ('events', 'sandbox_mail', 'delivery_log') then
        raise exception '% is not kept by day', kept using errcode = 'invalid_parameter_value';
    end if;
    -- Nodes that keep the days at the same time take turns.
    perform pg_advisory_xact_lock(8245931949774961011);

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
end
$$;

-- Whoever calls it cannot put other tables or functions in its way; only those who are granted it may call it.
do $$ begin
    execute format('alter function keep_day(text) set search_path = %I, pg_temp', current_schema());
end $$;
revoke execute on function keep_day(text) from public;
