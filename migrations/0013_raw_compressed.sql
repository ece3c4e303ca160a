-- The bytes of small mail are compressed as well, where PostgreSQL has lz4: it costs as much time as it saves, and mail
-- takes three fifths of the disk, the log and the backup. The older way would cost more, so without lz4 they stay as they are.
-- Mail that is there already is not written anew.
do $$
begin
    alter table messages alter column raw set compression lz4, alter column raw set storage extended;
exception when feature_not_supported then
    null;
end
$$;
