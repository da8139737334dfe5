import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type ServicePlugin, STAGES } from '../../../src/http/lifecycle.ts';
import { newId } from '../../../src/platform/ids.ts';
import { accountPage } from '../../support/account-page.ts';
import { useAccount, useApp } from '../../support/app.ts';
import { visitor } from '../../support/credentials/session.ts';
import { graphqlPost } from '../../support/graphql.ts';
import { send } from '../../support/keyed.ts';
import { READING } from '../../support/reading-plugin.ts';
import { readEventStream } from '../../support/streams/event-stream.ts';

/** Notes each stage that it takes part in. */
function probing(ran: string[]): ServicePlugin {
  const note = (stage: string) => () => {
    ran.push(stage);
    return undefined;
  };
  return {
    name: 'probe',
    stages: {
      locate: note('locate'),
      screen: note('screen'),
      authenticate: note('authenticate'),
      limit: note('limit'),
      schedule: note('schedule'),
      admit: note('admit'),
      mutationField: note('mutationField'),
      execute(args, next) {
        ran.push('execute');
        return next(args);
      },
      subscribe(args, next) {
        ran.push('subscribe');
        return next(args);
      },
      respond: note('respond'),
      finish: note('finish'),
    },
  };
}

const BEFORE = ['locate', 'screen', 'authenticate', 'limit', 'schedule'];
const AFTER = ['respond', 'finish'];
const around = (...stages: string[]) => [...BEFORE, ...stages, ...AFTER];

describe.each([
  { host: 'the direct path', yogaPlugins: [] },
  { host: 'Yoga', yogaPlugins: [READING] },
])('A plugin of the service takes part in each stage once, on $host', ({ yogaPlugins }) => {
  const ran: string[] = [];
  const app = useApp({ plugins: [probing(ran)], yogaPlugins });
  const author = useAccount(app);
  beforeAll(async () => {
    await app.gql('mutation { createPost(title: "T", body: "b") { id } }', author);
  });
  beforeEach(() => {
    ran.length = 0;
  });

  it.each([
    ['a query that the database answers', '{ posts { id } }'],
    ['a query of loaders', '{ posts(limit: 2) { id } viewer { id } __schema { queryType { name } } }'],
  ])('for %s', async (_, query) => {
    expect((await app.gql(query, author)).errors).toBeUndefined();
    expect(ran).toEqual(around('admit', 'execute'));
  });

  it.each([
    ['a single statement', 'id'],
    ['a transaction', 'id author { name }'],
  ])('for a mutation that is %s', async (_, selection) => {
    await app.gql(`mutation { createPost(title: "T", body: "b") { ${selection} } }`, author);
    expect(ran).toEqual(around('admit', 'mutationField', 'execute'));
  });

  it('for a mutation with a key, and again for its replay', async () => {
    const query = 'mutation { createPost(title: "T", body: "b") { id } }';
    const request = { query, idempotencyKey: 'stages', key: author.key };
    await send(app, request);
    expect((await send(app, request)).replayed).toBe('true');
    const once = around('admit', 'mutationField', 'execute');
    expect(ran).toEqual([...once, ...once]);
  });

  it('for a subscription', async () => {
    const options = { key: author.key, headers: { accept: 'text/event-stream' } };
    const query = 'subscription { postCreated { id } }';
    const stream = readEventStream(await app.fetch('/graphql', graphqlPost(query, options)));
    expect((await stream.block())?.id).toBeDefined();
    await stream.close();
    expect(ran).toEqual(around('admit', 'subscribe'));
  });

  it('for a page of the service, whose operation no limit for documents counts', async () => {
    const { cookie } = await visitor(app);
    await accountPage(app).send(cookie, { do: 'end-session', id: newId() });
    expect(ran.filter((stage) => BEFORE.includes(stage))).toEqual(BEFORE);
    expect(ran.filter((stage) => stage === 'mutationField')).toHaveLength(1);
    expect(ran).not.toContain('admit');
  });

  it('for a request that is rejected, until its rejection', async () => {
    await app.gql('{ posts { id } }');
    expect(ran).toEqual([...BEFORE, ...AFTER]);
    ran.length = 0;
    await app.fetch('/graphql', { method: 'OPTIONS' });
    expect(ran).toEqual(AFTER);
  });

  it('and knows no other stage', () => {
    const { stages } = probing([]);
    // These run a mutation or open a stream, and only one plugin each has them.
    const only = ['replay', 'executeMutation', 'openStream'];
    expect([...Object.keys(stages), ...only].sort()).toEqual([...STAGES].sort());
  });
});
