#!/bin/sh
# Makes the manifests of docs/guides/trusted-documents.md, each with its own tool, from the same operations.
set -eu
cd "$(dirname "$0")"
mkdir -p generated relay/__generated__
for config in codegen.yml codegen-4-and-5.yml urql.config.ts; do
  graphql-codegen --config "$config" --silent
done
generate-persisted-query-manifest
# The file must exist. Its compiler adds to it what is not generated yet: both begin empty.
rm -f relay/__generated__/*
echo '{}' >generated/relay.json
relay-compiler relay.config.json
cd .. && gql.tada generate-persisted
