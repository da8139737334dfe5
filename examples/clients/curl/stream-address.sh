#!/bin/sh
# Prints the address of a stream that needs no header, for an EventSource. Needs ORIGIN and KEY.
set -eu
answer=$(curl -sS --fail-with-body "$ORIGIN/graphql/stream-token" \
  -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' \
  -d '{"query":"subscription { postCreated { id title } }"}')
token=${answer#*'"token":"'}
printf '%s/graphql?stream_token=%s\n' "$ORIGIN" "${token%%'"'*}"
