import { describe, expect, it, onTestFinished } from 'vitest';
import { createClient, type StreamOptions, type StreamState } from '../../../packages/client/src/index.ts';
import { revokeApiKey } from '../../../src/auth/api-keys.ts';
import { type Account, useApp } from '../../support/app.ts';
import { createPost } from '../../support/content.ts';
import { until } from '../../support/processes/process.ts';
import { useSocket } from '../../support/socket.ts';

const app = useApp({ settings: { CREDENTIAL_RECHECK_MS: '50' } });
const socket = useSocket(app);

interface PostCreated {
  readonly postCreated: { readonly title: string };
}

function follow({ key }: Account, options: StreamOptions = {}) {
  const client = createClient({
    url: `${socket.origin}/graphql`,
    headers: () => ({ authorization: `Bearer ${key}` }),
  });
  onTestFinished(() => client.close());
  const states: StreamState[] = [];
  const onState = (state: StreamState) => void states.push(state);
  const document = 'subscription { postCreated { title } }';
  const stream = client.subscribe<PostCreated, object>(document, {}, { onState, ...options });
  return { client, states, stream };
}

describe('A stream of the service', () => {
  it('tells that events are lost where the service does not know the position', async () => {
    const account = await app.account();
    const { stream, states } = follow(account, { after: 'never issued' });
    const { value: missed } = await stream.next();
    expect(missed).toMatchObject({ type: 'missedEvents', id: expect.any(String) });
    const next = stream.next();
    await until('the stream', () => stream.state.status === 'live');
    await createPost(app, account.key, { title: 'After' });
    expect((await next).value).toMatchObject({ type: 'data', data: { postCreated: { title: 'After' } } });
    expect(states.at(-1)).toEqual({ status: 'live', since: 'missedEvents' });
    await stream.return();
  });

  it('waits for other credentials when its own are revoked', async () => {
    const account = await app.account();
    const { stream, states } = follow(account);
    const next = stream.next();
    await until('the stream', () => stream.state.status === 'live');
    const { id } = await app.prisma.apiKey.findFirstOrThrow({ where: { userId: account.id } });
    await revokeApiKey(app.database, id);
    await until('the end of the credentials', () => stream.state.status === 'reconnecting');
    expect(states.at(-1)).toMatchObject({ reason: 'unauthenticated', error: { code: 'UNAUTHENTICATED' } });
    stream.close();
    expect(await next).toEqual({ done: true, value: undefined });
  });

  it('is closed by the service for an invalid document', async () => {
    const account = await app.account();
    const { client } = follow(account);
    await expect(client.subscribe('subscription { nothing }', {}).next()).rejects.toMatchObject({
      code: 'GRAPHQL_VALIDATION_FAILED',
    });
    await expect(
      client.subscribe('subscription { changes(kinds: []) { kind } }', {}).next(),
    ).rejects.toMatchObject({ code: 'BAD_USER_INPUT', argument: 'kinds' });
  });
});
