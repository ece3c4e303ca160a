-- Domains a workspace sends from, each with the key that signs its mail (DKIM). The private key is encrypted
-- with a key derived from ROOKERY_SECRET_KEY and bound to its workspace and domain.
create table sending_domains (
    workspace_id bigint      not null references workspaces,
    domain       text        not null check (domain = lower(domain) and char_length(domain) between 3 and 253),
    -- Where the public key stands: selector._domainkey.domain. Random, so that two workspaces of one domain
    -- do not meet.
    selector     text        not null check (selector ~ '^[a-z0-9]{1,63}$'),
    private_key  bytea       not null,
    -- As DNS shows it: the base64 of its DER form.
    public_key   text        not null,
    created_at   timestamptz not null,
    primary key (workspace_id, domain)
);
