import { parse, specifiedRules, validate } from 'graphql';
import { describe, expect, it } from 'vitest';
import { buildSchema } from '../../../src/schema/schema.ts';
import { useAccount, useApp } from '../../support/app.ts';
import { dataOf } from '../../support/rejection.ts';
import { STRANGE } from '../../support/schema/client-texts.ts';

const schema = buildSchema();

/** What graphql-js says of a text, by itself. */
function errorsOf(text: string) {
  return validate(schema, parse(text), specifiedRules, { maxErrors: 5 }).map(({ message, locations }) => ({
    message,
    locations,
  }));
}

/** One query or mutation, which a text without names selects, and no fragment in itself: that is rejected before. */
const REJECTED = STRANGE.filter((text) => {
  const operations = parse(text).definitions.filter(({ kind }) => kind === 'OperationDefinition');
  const messages = errorsOf(text).map(({ message }) => message);
  return (
    operations.length === 1 &&
    !text.startsWith('subscription') &&
    messages.length > 0 &&
    !messages.some((message) => message.includes('within itself'))
  );
});

describe('A document that the fast validator does not accept', () => {
  const app = useApp();
  const caller = useAccount(app);

  it.each(REJECTED)('is rejected with all errors of the full validation, every time: %s', async (text) => {
    for (let time = 0; time < 3; time += 1) {
      const { data, errors = [] } = await app.gql(text, caller);
      expect(data).toBeUndefined();
      expect(errors.map(({ message, locations }) => ({ message, locations }))).toEqual(errorsOf(text));
      for (const { extensions } of errors) expect(extensions.code).toBe('GRAPHQL_VALIDATION_FAILED');
    }
  });

  it('leaves what is valid answered the first time, the second, when it is kept, and the third', async () => {
    const text = '{ __typename kept: posts(limit: 0) { id } }';
    for (let time = 0; time < 3; time += 1)
      expect(dataOf(await app.gql(text, caller))).toEqual({ __typename: 'Query', kept: [] });
  });
});
