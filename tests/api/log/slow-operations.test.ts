import { describe, expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import { linesOf, WARN } from '../../support/log-lines.ts';
import { clockOf } from '../../support/time/stepped-clock.ts';

/** Every look at the clock takes a while, so that every operation is slow. */
function slowClock() {
  let nowMs = Date.UTC(2030, 0, 1);
  return clockOf(() => {
    nowMs += 50;
    return nowMs;
  });
}

const SECRET = 'passphrase';
const DOCUMENT = `
  # ${SECRET}
  query ${SECRET}Query($${SECRET}Tag: String = "${SECRET}", $n: Int = 47) {
    ${SECRET}Alias: posts(limit: $n, tag: $${SECRET}Tag) { ...${SECRET}Part }
    other: posts(limit: 47, tag: "${SECRET}") { id }
    postsConnection(first: 4, tag: """${SECRET}""") { nodes { id } }
  }
  fragment ${SECRET}Part on Post { ${SECRET}Title: title author { name } }`;

describe('slow operations', () => {
  const app = useApp({ clock: slowClock(), settings: { SLOW_OPERATION_MS: '1' } });

  const lineFor = (headers: Headers) =>
    linesOf(app.logged, 'graphql.slow_operation').filter(
      ({ requestId }) => requestId === headers.get('x-request-id'),
    );

  it('are logged with their document, without anything of the client in it', async () => {
    const { id, key } = await app.account();
    const { headers, errors } = await app.gql(DOCUMENT, { key, variables: { n: 3 } });
    expect(errors).toBeUndefined();
    const [line, ...more] = lineFor(headers);
    expect(more).toEqual([]);
    expect(line).toMatchObject({
      level: WARN,
      operation: 'query',
      client: expect.stringContaining(id),
      documentShape:
        'query ($v1: String = "", $v2: Int = 0) { posts(limit: $v2, tag: $v1) { ...F1 } posts(limit: 0, tag: "") { id } postsConnection(first: 0, tag: "") { nodes { id } } } fragment F1 on Post { title author { name } }',
    });
    expect(line?.durationMs).toBeGreaterThanOrEqual(1);
    expect(JSON.stringify(line)).not.toMatch(new RegExp(SECRET, 'i'));
  });

  it('are mutations too, but not what is rejected', async () => {
    const { key } = await app.account();
    const written = await app.gql(`mutation { createPost(title: "${SECRET}", body: "b") { id } }`, { key });
    expect(lineFor(written.headers)).toEqual([
      expect.objectContaining({
        operation: 'mutation',
        documentShape: 'mutation { createPost(title: "", body: "") { id } }',
      }),
    ]);
    const rejected = await app.gql(`{ ${SECRET} }`, { key });
    expect(rejected.errors).toHaveLength(1);
    expect(lineFor(rejected.headers)).toEqual([]);
  });
});

describe('Of many slow operations', () => {
  const app = useApp({ clock: slowClock(), settings: { SLOW_OPERATION_MS: '1' } });

  it('ten in a minute have a line', async () => {
    const { key } = await app.account();
    for (let count = 0; count < 15; count += 1) await app.gql('{ posts { id } }', { key });
    expect(linesOf(app.logged, 'graphql.slow_operation')).toHaveLength(10);
  });
});

describe.each([
  ['faster than SLOW_OPERATION_MS', '600000'],
  ['where it is 0', '0'],
])('operations %s', (_, SLOW_OPERATION_MS) => {
  const app = useApp({ clock: slowClock(), settings: { SLOW_OPERATION_MS } });

  it('are not logged as slow', async () => {
    const { key } = await app.account();
    expect((await app.gql('{ posts { id } }', { key })).errors).toBeUndefined();
    expect(linesOf(app.logged, 'graphql.slow_operation')).toEqual([]);
  });
});
