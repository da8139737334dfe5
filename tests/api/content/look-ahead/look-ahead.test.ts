import { getOperationAST, parse } from 'graphql';
import { beforeAll, describe, expect, it } from 'vitest';
import type { ExecutionPath } from '../../../../src/engine/core/context.ts';
import { buildSchema } from '../../../../src/schema/schema.ts';
import type { Case } from '../../../fuzz/case.ts';
import { randomCase } from '../../../fuzz/generate/random-case.ts';
import { createWorld, type World } from '../../../fuzz/world.ts';
import { type TestApp, useApp } from '../../../support/app.ts';
import { graphqlPost } from '../../../support/graphql.ts';
import { readMetricBy } from '../../../support/metrics.ts';
import { seededRandom } from '../../../support/random.ts';
import { type ToldError, toldErrors } from '../../../support/schema/told-errors.ts';
import { secondInstance } from '../../../support/second-instance.ts';

/** How many random queries are compared; `npm run test:look-ahead` asks for more. */
const QUERIES = Number(process.env.LOOK_AHEAD_RUNS ?? 220);
/** A run of thousands takes longer than the limit of all tests. */
const TIME_LIMIT_MS = Math.max(600_000, QUERIES * 1_000);
/** Each way must be taken by so many of the queries, or the comparison shows little of it. */
const LEAST = QUERIES / 10;

const schema = buildSchema();

interface Responded {
  readonly status: number;
  readonly text: string;
  readonly data?: unknown;
  readonly errors?: readonly ToldError[];
}

/**
 * The order of members is promised (GraphQL section 7.2.2), so data is compared as text. Which of several errors rejects
 * the whole is not promised.
 */
function comparable({ status, text, data, errors }: Responded): unknown {
  if (errors === undefined) return { status, text };
  if (data == null) return 'rejected';
  return { status, errors: toldErrors(data, errors), data: JSON.stringify(data) };
}

const TEACH =
  'The database answers this otherwise than the resolvers do. If a computed field is selected, its SQL and its resolver have to give the same (docs/contributing/recipes/computed-field.md).';

describe('look-ahead', () => {
  const app = useApp();
  let world: World;
  beforeAll(async () => {
    world = await createWorld(app);
  });
  const openLoaders = () => secondInstance(app, { lookAhead: false });

  async function ask(
    { fetch }: Pick<TestApp, 'fetch'>,
    { document, variables, operationName }: Omit<Case, 'caller'>,
  ): Promise<Responded> {
    const headers = world.headersOf('member');
    const response = await fetch('/graphql', graphqlPost(document, { variables, operationName, headers }));
    const text = await response.text();
    return { ...JSON.parse(text), status: response.status, text };
  }

  /** The next random case that is a query. */
  function drawQuery(draw: () => number): Case {
    for (;;) {
      const drawn = randomCase(draw(), schema, world.known);
      try {
        const operation = getOperationAST(parse(drawn.document, { maxTokens: 1_000 }), drawn.operationName);
        if (operation?.operation === 'query') return drawn;
      } catch {
        // The generator also damages documents.
      }
    }
  }

  it(
    'answers every query as the loaders do, to the byte, errors included',
    async () => {
      const random = seededRandom('look-ahead');
      const loaders = openLoaders();
      // So little that nearly all that these queries may answer has to be measured, and so much that most of it fits.
      const measured = secondInstance(app, { config: { ...app.config, maxResponseBytes: 50_000 } });
      let answered = 0;
      for (let run = 0; run < QUERIES; run += 1) {
        const query = drawQuery(() => random.below(2 ** 32));
        const loaded = await ask(loaders, query);
        expect(comparable(await ask(app, query)), `${query.document}\n${TEACH}`).toEqual(comparable(loaded));
        const bounded = await ask(measured, query);
        if (loaded.text.length < 20_000)
          expect(comparable(bounded), query.document).toEqual(comparable(loaded));
        else expect([200, 400]).toContain(bounded.status);
        if (loaded.data != null) answered += 1;
      }
      // The comparison means something only where most of the queries return data.
      expect(answered).toBeGreaterThan(QUERIES / 3);
      const taken = await readMetricBy(app.app, 'content_graph_graphql_execution_paths_total', 'path');
      const expected: readonly ExecutionPath[] = ['database_response', 'fast_path', 'loaders'];
      for (const path of expected) expect(taken.get(path), path).toBeGreaterThanOrEqual(LEAST);
    },
    TIME_LIMIT_MS,
  );

  it('reads for each operation what it asks for, though they share a fragment', async () => {
    const loaders = openLoaders();
    for (const [field, own] of [
      ['postsConnection(first: 1) { nodes', 'title'],
      ['postsConnection(first: 1) { nodes', 'author { name }'],
      ['posts(limit: 1) { ... on Post', 'body'],
    ]) {
      const list = (selection?: string) => `p: ${field} { ${selection} } }`;
      const document = `query A { ...F __typename } query B { ...F ${list(own)} __typename } fragment F on Query { ${list('id')} }`;
      for (const operationName of ['A', 'B', 'A']) {
        const asked = { document, variables: {}, operationName };
        const ahead = await ask(app, asked);
        expect(ahead.errors).toBeUndefined();
        expect(ahead.text).toBe((await ask(loaders, asked)).text);
      }
    }
  });
});
