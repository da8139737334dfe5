import fc from 'fast-check';
import { type GraphQLArgument, getNamedType } from 'graphql';
import { beforeAll, describe, expect, it } from 'vitest';
import { useApp } from '../../../support/app.ts';
import { createPost } from '../../../support/content.ts';
import type { GraphQLResponse } from '../../../support/graphql.ts';
import { expectBadInput } from '../../../support/rejection.ts';
import { expectClosedSet } from '../../../support/schema/closed-set.ts';
import { fieldsOf, introspect, type SchemaField } from '../../../support/schema/schema-fields.ts';
import {
  anyJson,
  brokenCursor,
  brokenText,
  literal,
  outOfRange,
  unknownId,
} from '../../../support/schema/wrong-values.ts';

const RUNS = 300;
const RUNS_EACH = 12;

/** A value of each type that the field takes, so that one wrong argument is alone in being wrong. */
const GOOD: Readonly<Record<string, unknown>> = {
  ID: '00000000-0000-7000-8000-000000000000',
  String: 'good',
  Int: 1,
  DateTime: '2020-01-01T00:00:00Z',
};

/** These fields reject a key before any argument: only a session may call them (contract: permissions), or a rule applies. */
const REJECTS_KEYS =
  /^Mutation\.(updateViewer|createApiKey|revokeApiKey|revokeSession|revokeGrant|unlinkIdentity|changePassword|revokeEverything|inviteUser|createResetLink)$/;

const codesOf = ({ errors = [] }: GraphQLResponse) => errors.map(({ extensions }) => extensions.code);
const remedy = ({ coordinate }: SchemaField, { name }: GraphQLArgument) =>
  `${coordinate}(${name}:) must reject the value of the argument. Add the field to REJECTS_KEYS of this test if it rejects the call for another reason`;

describe('Wrong input, over the whole schema', () => {
  const app = useApp();
  let key = '';
  let fields: readonly SchemaField[] = [];

  beforeAll(async () => {
    const account = await app.account();
    key = account.key;
    const post = await createPost(app, key, { tags: ['tag'] });
    const schema = await introspect(app, key);
    fields = fieldsOf(schema, { 'Query.post': post, 'Query.user': account.id });
  });

  const post = (body: BodyInit) =>
    app.fetch('/graphql', {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      body,
    });
  const send = (query: string, variables?: unknown) => post(JSON.stringify({ query, variables }));

  const anyField = () => fc.nat(fields.length - 1).map((index) => fields[index] as SchemaField);
  const required = ({ args }: SchemaField, but: string) =>
    args.filter(({ name, type }) => name !== but && String(type).endsWith('!'));

  /** Asks for the field with one argument as given, by a variable, and the required others as they should be. */
  async function withArgument(field: SchemaField, { name, type }: GraphQLArgument, value: unknown) {
    const others = required(field, name).map(
      (arg) => `${arg.name}: ${literal(GOOD[getNamedType(arg.type).name])}`,
    );
    const call = [`${name}: $${name}`, ...others].join(', ');
    return app.gql(field.document({ variables: `$${name}: ${type}`, call }), {
      key,
      variables: { [name]: value },
    });
  }

  /** The arguments to try one by one. Over JSON a valid subscription is rejected for its transport, whatever its arguments are. */
  const argumentsWhere = (wanted: (arg: GraphQLArgument) => boolean) =>
    fields
      .filter(({ operation, coordinate }) => operation !== 'subscription' && !REJECTS_KEYS.test(coordinate))
      .flatMap((field) => field.args.filter(wanted).map((arg) => ({ field, arg })));

  it('finds every type of the schema, so that nothing goes untested', () => {
    const types = new Set(fields.map(({ coordinate }) => coordinate.split('.')[0]));
    for (const type of 'Query Mutation Subscription User Post Comment PageInfo CommentEdge'.split(' '))
      expect(types).toContain(type);
    expect(argumentsWhere(() => true).length).toBeGreaterThanOrEqual(35);
  });

  it('of any shape, in any argument, as variable or literal, is answered with a code of the closed set', async () => {
    const call = anyField()
      .filter(({ args }) => args.length > 0)
      .chain((field) =>
        fc.record({
          field: fc.constant(field),
          values: fc.tuple(...field.args.map(() => fc.option(anyJson, { freq: 4 }))),
          inline: fc.boolean(),
        }),
      );
    await fc.assert(
      fc.asyncProperty(call, async ({ field, values: wrong, inline }) => {
        const given = field.args.map((arg, index) => ({ ...arg, value: wrong[index] ?? null }));
        const args = given
          .map(({ name, value }) => `${name}: ${inline ? literal(value) : `$${name}`}`)
          .join(', ');
        const variables = inline ? '' : given.map(({ name, type }) => `$${name}: ${type}`).join(', ');
        const document = field.document({ call: args, variables });
        const values = Object.fromEntries(given.map(({ name, value }) => [name, value]));
        await expectClosedSet(await send(document, values), `${document} ${JSON.stringify(values)}`);
      }),
      { numRuns: RUNS },
    );
  });

  it('of unknown fields, arguments, variables and types is rejected by validation', async () => {
    const name = fc.stringMatching(/^[a-z]{3,8}Zz$/);
    const document = fc
      .tuple(anyField(), name, fc.nat(3))
      .map(([field, unknown, which]) =>
        [
          () => field.document({ selection: `{ ${unknown} }` }),
          () => field.document({ call: `${unknown}: 1` }),
          () => field.document({ call: `${unknown}: $${unknown}` }),
          () => field.document({ variables: `$${unknown}: ${unknown}` }),
        ][which]?.(),
      );
    await fc.assert(
      fc.asyncProperty(document, async (query) => {
        const response = await send(query ?? '');
        const codes = await expectClosedSet(response);
        // What depends on who asks is rejected in a subscription before it is read any further.
        const ofCaller = /^subscription\b.*\brole\b/s.test(query ?? '');
        const expected = ofCaller ? 'BAD_USER_INPUT' : 'GRAPHQL_VALIDATION_FAILED';
        expect(new Set(codes)).toEqual(new Set([expected]));
      }),
      { numRuns: RUNS },
    );
  });

  it.each([
    [
      'numbers out of range',
      outOfRange,
      ({ name }: GraphQLArgument) => /^(limit|first|last|offset)$/.test(name),
    ],
    ['malformed cursors', brokenCursor, ({ name }: GraphQLArgument) => name === 'after' || name === 'before'],
    [
      'NUL and lone surrogates',
      brokenText,
      ({ name, type }: GraphQLArgument) =>
        name !== 'after' && name !== 'before' && getNamedType(type).name === 'String',
    ],
  ] as const)('of %s is BAD_USER_INPUT that names the argument', async (_what, values, wanted) => {
    const found = argumentsWhere(wanted);
    expect(found.length).toBeGreaterThan(0);
    for (const { field, arg } of found) {
      await fc.assert(
        fc.asyncProperty(values, async (value) => {
          const given = String(arg.type).startsWith('[') ? [value] : value;
          const result = await withArgument(field, arg, given);
          expect(codesOf(result), remedy(field, arg)).toEqual(['BAD_USER_INPUT']);
          expectBadInput(result, arg.name);
        }),
        { numRuns: RUNS_EACH },
      );
    }
  });

  it('of ids that name nothing is null in queries, false in deletions and NOT_FOUND in other mutations', async () => {
    const found = argumentsWhere(({ type }) => getNamedType(type).name === 'ID');
    expect(found.length).toBeGreaterThan(0);
    for (const { field, arg } of found) {
      await fc.assert(
        fc.asyncProperty(unknownId, async (id) => {
          const result = await withArgument(field, arg, id);
          // A list of ids gives a list.
          const values = Object.values(result.data ?? {}).flat();
          const isDeletion = String(field.type) === 'Boolean!';
          const notFound = field.operation === 'mutation' && !isDeletion;
          expect([result.status, codesOf(result), values], remedy(field, arg)).toEqual(
            notFound ? [200, ['NOT_FOUND'], []] : [200, [], [isDeletion ? false : null]],
          );
        }),
        { numRuns: RUNS_EACH },
      );
    }
  });
});
