import { type GraphQLArgument, GraphQLList, getNullableType, isRequiredArgument } from 'graphql';
import { createYoga } from 'graphql-yoga';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { App } from '../../../src/app/create-app.ts';
import { rejectUnknownPlugins } from '../../../src/engine/builder/builder.ts';
import { useIdempotency } from '../../../src/engine/mutations/idempotency/idempotent-executor.ts';
import type { MutationFieldEnd } from '../../../src/engine/operation/lifecycle.ts';
import { useAuthentication } from '../../../src/http/hooks/authentication.ts';
import type { ServicePlugin } from '../../../src/http/lifecycle.ts';
import { useEngine } from '../../../src/http/yoga/use-engine.ts';
import { ApiError } from '../../../src/platform/errors.ts';
import { newId } from '../../../src/platform/ids.ts';
import { buildSchema } from '../../../src/schema/schema.ts';
import { accountPage } from '../../support/account-page.ts';
import { ORIGIN, type TestApp, useAccount, useApp } from '../../support/app.ts';
import { gqlAs, type Visitor, visitor } from '../../support/credentials/session.ts';
import { graphqlPost, readResponse } from '../../support/graphql.ts';
import { send, sendUntilResponse } from '../../support/keyed.ts';
import { READING } from '../../support/reading-plugin.ts';

interface Seen {
  readonly field: string;
  readonly args: Readonly<Record<string, unknown>>;
  result?: MutationFieldEnd['result'];
}

/** A rule for `createPost`, and one that sees every field. */
function rules() {
  const seen: Seen[] = [];
  const rule = { rejects: false };
  const watching: ServicePlugin = {
    name: 'watching',
    stages: {
      async mutationField({ field, args }) {
        const entry: Seen = { field, args: args() };
        seen.push(entry);
        return ({ result }) => {
          entry.result = result;
        };
      },
    },
  };
  const refusing: ServicePlugin = {
    name: 'refusing',
    stages: {
      mutationField({ field }) {
        if (field === 'createPost' && rule.rejects)
          throw new ApiError('RATE_LIMITED', 'Too many posts.', { headers: { 'retry-after': '7' } });
        return undefined;
      },
    },
  };
  const results = () => seen.map(({ field, result }) => [field, result]);
  return { seen, results, rule, plugins: [watching, refusing] };
}

const MUTATIONS = Object.values(buildSchema().getMutationType()?.getFields() ?? {});

/** A value that the argument takes. Whether the mutation then changes anything is all the same. */
function literal({ type }: GraphQLArgument): string {
  const named = getNullableType(type);
  if (named instanceof GraphQLList) return '["posts:read"]';
  return String(named) === 'ID' ? `"${newId()}"` : '"x"';
}

function callOf({ name, args, type }: (typeof MUTATIONS)[number]): string {
  const given = args.filter(isRequiredArgument).map((argument) => `${argument.name}: ${literal(argument)}`);
  const selection = String(type) === 'Boolean!' ? '' : ' { __typename }';
  return `mutation { ${name}${given.length === 0 ? '' : `(${given.join(', ')})`}${selection} }`;
}

const HOSTS = [
  { host: 'the direct path', yogaPlugins: [] },
  { host: 'Yoga', yogaPlugins: [READING] },
];

describe.each(HOSTS)('A rule for fields of mutations, on $host', ({ yogaPlugins }) => {
  const { seen, results, rule, plugins } = rules();
  const app = useApp({ plugins, yogaPlugins });
  const author = useAccount(app);
  let admin: Visitor;
  beforeAll(async () => {
    admin = await visitor(app, { role: 'admin' });
  });
  beforeEach(() => {
    seen.length = 0;
    rule.rejects = false;
  });
  const create = (selection = 'id', title = 'T') =>
    `mutation { createPost(title: "${title}", body: "b") { ${selection} } }`;
  const count = (title: string) => app.prisma.post.count({ where: { title } });

  it.each(MUTATIONS.map((field) => [field.name, callOf(field)]))('runs once for %s', async (name, text) => {
    const cookie =
      name === 'revokeEverything' ? (await visitor(app, { role: 'admin' })).cookie : admin.cookie;
    await gqlAs(app, cookie, text ?? '');
    expect(seen.map(({ field }) => field)).toEqual([name]);
    expect(['committed', 'rolled_back']).toContain(seen[0]?.result);
  });

  it('runs for a single statement and for a transaction', async () => {
    for (const selection of ['id', 'id author { name }']) await app.gql(create(selection), author);
    expect(results()).toEqual([
      ['createPost', 'committed'],
      ['createPost', 'committed'],
    ]);
    expect(seen[0]?.args).toEqual({ title: 'T', body: 'b' });
  });

  it('runs for each field that is selected, in order, and is told that all are rolled back', async () => {
    const response = await app.gql(
      `mutation ($no: Boolean! = true) { a: createPost(title: "several", body: "b") { id } ...More }
       fragment More on Mutation { createPost(title: "no", body: "b") @skip(if: $no) { id }
         createComment(postId: "${newId()}", body: "c") { id } }`,
      author,
    );
    expect(response.errors?.map(({ extensions }) => extensions.code)).toEqual(['NOT_FOUND']);
    expect(results()).toEqual([
      ['createPost', 'rolled_back'],
      ['createComment', 'rolled_back'],
    ]);
    expect(await count('several')).toBe(0);
  });

  it('is told of replays, whoever waits for whom', async () => {
    const request = { query: create('id', 'keyed'), idempotencyKey: 'rule-keyed', key: author.key };
    await Promise.all(Array.from({ length: 4 }, () => sendUntilResponse(app, request)));
    await send(app, request);
    const told = results().map(([, result]) => result);
    expect(told.filter((result) => result === 'committed')).toHaveLength(1);
    expect(told.filter((result) => result === 'replayed').length).toBeGreaterThanOrEqual(4);
    expect(await count('keyed')).toBe(1);
  });

  it('runs for no field that the caller may not call, nor with variables that do not fit', async () => {
    const reader = await app.account({ scopes: ['posts:read'] });
    expect((await app.gql(create(), reader)).errors?.[0]?.extensions.code).toBe('FORBIDDEN');
    const query = 'mutation ($title: String!) { createPost(title: $title, body: "b") { id } }';
    const wrong = { query, variables: { title: 1 }, idempotencyKey: 'rule-wrong', key: author.key };
    expect((await send(app, wrong)).codes).toEqual(['BAD_USER_INPUT']);
    expect(seen).toEqual([]);
  });

  it('rejects the mutation as a whole, with the error of the field', async () => {
    rule.rejects = true;
    const response = await app.gql(create('id', 'refused'), author);
    expect(response.data).toBeNull();
    expect(response.errors).toMatchObject([
      { message: 'Too many posts.', path: ['createPost'], extensions: { code: 'RATE_LIMITED' } },
    ]);
    expect(response.headers.get('retry-after')).toBe('7');
    expect(results()).toEqual([['createPost', 'rolled_back']]);
    expect(await count('refused')).toBe(0);
  });

  it('rejects a mutation with a key, which stays free, and no replay', async () => {
    const request = { query: create('id', 'later'), idempotencyKey: 'rule-later', key: author.key };
    rule.rejects = true;
    expect((await send(app, request)).codes).toEqual(['RATE_LIMITED']);
    rule.rejects = false;
    const first = await send(app, request);
    expect(first).toMatchObject({ status: 200, replayed: null, codes: [] });
    rule.rejects = true;
    expect(await send(app, request)).toMatchObject({ text: first.text, replayed: 'true' });
    const other = { ...request, query: create('id', 'other') };
    expect((await send(app, other)).codes).toEqual(['IDEMPOTENCY_KEY_REUSED']);
    expect(await count('later')).toBe(1);
  });

  it('runs for what a page of the service does', async () => {
    const { cookie } = await visitor(app);
    await accountPage(app).send(cookie, { do: 'end-session', id: newId() });
    expect(seen.map(({ field }) => field)).toEqual(['revokeSession']);
  });
});

describe('A rule for fields of mutations, in a Yoga server of one’s own', () => {
  const { results, plugins } = rules();
  const app: TestApp = useApp();
  const serve = ({ host }: App) =>
    createYoga({
      schema: host.schema,
      plugins: [
        useEngine(host.engine),
        useAuthentication(host.authentication),
        useIdempotency(host.idempotency),
        ...plugins,
      ],
      maskedErrors: false,
      cors: false,
    });

  it('runs', async () => {
    const yoga = serve(app.app);
    const { key } = await app.account();
    const query = 'mutation { createPost(title: "T", body: "b") { id } }';
    for (const headers of [{}, { 'idempotency-key': 'own-yoga' }, { 'idempotency-key': 'own-yoga' }])
      await readResponse(await yoga.fetch(`${ORIGIN}/graphql`, graphqlPost(query, { key, headers })));
    expect(results().map(([, result]) => result)).toEqual(['committed', 'committed', 'replayed']);
  });
});

it('A plugin of Pothos that may wrap resolvers is rejected at start, with what to write instead', () => {
  expect(() => rejectUnknownPlugins(['rejections', 'timing'])).toThrow(/"timing" .*"mutationField"/);
});
