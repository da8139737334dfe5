import { describe, expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';

describe('A condition or @defer at the root of a subscription', () => {
  const app = useApp();

  it.each([
    ['subscription ($v: Boolean!) { postCreated @skip(if: $v) { id } }', { v: false }],
    ['subscription ($v: Boolean!) { ... @include(if: $v) { postCreated { id } } }', { v: true }],
    ['subscription { postCreated @include { id } }', {}],
    ['subscription { ... @skip(if: true) { postCreated { id } } }', {}],
    ['subscription { ... @defer(if: 5) { postCreated { id } } }', {}],
    ['subscription { ...F } fragment F on Subscription { postCreated @include(if: false) { id } }', {}],
  ])('is rejected by validation: %s', async (query, variables) => {
    const { key } = await app.account();
    const headers = { accept: 'text/event-stream' };
    const { status, errors } = await app.gql(query, { key, headers, variables });
    expect(status).toBe(200);
    expect(errors).toBeDefined();
    for (const { extensions } of errors ?? []) expect(extensions.code).toBe('GRAPHQL_VALIDATION_FAILED');
  });
});
