#!/usr/bin/env bash
# Usage: mcp_inspector.sh URL KEY
# Drives a running server's /mcp with the MCP inspector's command line, a client on the TypeScript
# SDK: lists the tools, calls a read tool, and sees that a wrong key is refused.
# MCP_INSPECTOR names an installed mcp-inspector; without it npx fetches one. It must be 0.17 or
# later: earlier ones cannot send the key (no --header).
set -euo pipefail

url=${1:?URL of /mcp} key=${2:?API key}
read -ra inspector <<<"${MCP_INSPECTOR:-npx --yes @modelcontextprotocol/inspector@0.17.5}"

ask() { # KEY, then the method and its options
    local with=$1
    shift
    timeout 120 "${inspector[@]}" --cli "$url" --transport http \
        --header "Authorization: Bearer $with" --method "$@"
}
fail() {
    echo "FAILED: $1" >&2
    exit 1
}

tools=$(ask "$key" tools/list) || fail "tools/list: $tools"
grep -q '"list_conversations"' <<<"$tools" || fail "list_conversations is not listed: $tools"

result=$(ask "$key" tools/call --tool-name list_conversations --tool-arg limit=5) || fail "tools/call: $result"
grep -q '"items"' <<<"$result" || fail "list_conversations gave no items: $result"
grep -q '"untrusted": true' <<<"$result" || fail "the result is not marked as untrusted: $result"

result=$(ask "$key" tools/call --tool-name list_conversations --tool-arg limit=1000) || fail "tools/call: $result"
grep -q '"isError": true' <<<"$result" || fail "limit=1000 was taken: $result"
grep -q '"status": 400' <<<"$result" || fail "the tool error carries no status 400: $result"

templates=$(ask "$key" resources/templates/list) || fail "resources/templates/list: $templates"
grep -q '"rookery://conversations/{id}"' <<<"$templates" || fail "conversations have no address: $templates"
prompts=$(ask "$key" prompts/list) || fail "prompts/list: $prompts"
grep -q '"summarise"' <<<"$prompts" || fail "summarise is not listed: $prompts"

if ask "wrong-$key" tools/list >/dev/null 2>&1; then
    fail "a wrong key was let in"
fi
echo "ok inspector: tools listed and called"
