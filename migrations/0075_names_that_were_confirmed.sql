-- no-transaction
-- Marks the names of contacts that came with confirmed mail, or from the team, a thousand contacts at a time. Safe to repeat.
do $$
declare
    last_workspace bigint := -9223372036854775808;
    last_audience bigint := -9223372036854775808;
    last_email text := '';
    place record;
begin
    loop
        select workspace_id, audience, email into place from (
            select workspace_id, audience, email from contacts
            where (workspace_id, audience, email) > (last_workspace, last_audience, last_email)
            order by workspace_id, audience, email limit 1000) batch
        order by workspace_id desc, audience desc, email desc limit 1;
        exit when not found;
        update contacts c set name_confirmed = true
        where (workspace_id, audience, email) > (last_workspace, last_audience, last_email)
          and (workspace_id, audience, email) <= (place.workspace_id, place.audience, place.email)
          and name is not null and not name_confirmed
          and exists (
              select from (
                  select id, contact_name from conversations v
                  where v.workspace_id = c.workspace_id and v.audience = c.audience and v.contact_email = c.email
                  order by id desc limit 100) v
              where v.contact_name = c.name and contact_is_confirmed(c.workspace_id, v.id));
        commit;
        last_workspace := place.workspace_id;
        last_audience := place.audience;
        last_email := place.email;
    end loop;
end
$$;
