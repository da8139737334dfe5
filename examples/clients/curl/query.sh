#!/bin/sh
# Runs the query on standard input, {"query": …, "variables": …}. Needs ORIGIN and KEY.
exec curl -sS "$ORIGIN/graphql" -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' -d @-
