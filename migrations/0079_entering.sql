-- Entering a workspace for a claim, and for what came of one.

-- Two statements, so that the second sees what was committed before the lock was had: read together with the lock, the fence
-- could be older than it.
create or replace function try_enter_workspace(entered bigint) returns boolean language plpgsql as $$
begin
    if not pg_try_advisory_xact_lock_shared(entered) then
        return false;
    end if;
    return exists (select from workspaces where id = entered and fenced_at is null);
end
$$;

-- What came of work in hand is written as long as anybody may write: a fence in the future lets it in, and somebody who is
-- about to close it is waited for. A claim asks `try_enter_workspace` instead, which a fence of any kind refuses.
create function enter_to_finish(entered bigint) returns boolean language plpgsql as $$
begin
    perform pg_advisory_xact_lock_shared(entered);
    return exists (select from workspaces
                   where id = entered and (fenced_at is null or fenced_at > clock_timestamp()));
end
$$;
