import type { GraphQLSchema } from 'graphql';
import { randomFrom } from '../../support/random.ts';
import { CALLERS, type CallerName, type Case } from '../case.ts';
import { damaged } from './damage.ts';
import { Draft } from './draft.ts';
import { oneIn, weighted } from './draw.ts';
import type { Known } from './known.ts';
import { writeDocument } from './operations.ts';
import { writeLarge } from './sizes.ts';

/** Those who may do much ask most: to the others nearly everything is rejected. */
const CALLER_WEIGHTS: Readonly<Partial<Record<CallerName, number>>> = {
  member: 8,
  admin: 7,
  session: 7,
  'full-session': 2,
  reader: 3,
  'other-member': 3,
  'read-only-key': 2,
  'write-only-key': 4,
};

/** The case of a seed of 32 bits, over a schema and what there is of data. */
export function randomCase(seed: number, schema: GraphQLSchema, known: Known): Case {
  const random = randomFrom(seed);
  const caller = weighted(
    random,
    CALLERS.map((name) => [CALLER_WEIGHTS[name] ?? 1, name] as const),
  );
  const written = oneIn(random, 12)
    ? writeLarge(random, known)
    : writeDocument(new Draft(random, schema, known));
  const document = oneIn(random, 14) ? damaged(random, written.document) : written.document;
  // As the service reads them: JSON has no minus zero, say.
  const variables: Case['variables'] =
    written.variables === undefined ? undefined : JSON.parse(JSON.stringify(written.variables));
  return { document, variables, operationName: written.operationName, caller };
}
