import { EventSource } from 'eventsource';
import { describe, expect, it, onTestFinished } from 'vitest';
import { followByEventSource } from '../../packages/client/src/adapters/event-source.ts';
import { createClient, type StreamState } from '../../packages/client/src/index.ts';
import { until } from '../support/processes/process.ts';
import { type LiveService, startService } from './live-service.ts';

interface PostCreated {
  readonly postCreated: { readonly title: string };
}

const POST_CREATED = 'subscription { postCreated { title } }';

async function signIn({ origin, password }: LiveService): Promise<string> {
  const response = await fetch(`${origin}/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email: 'ada@example.com', password }),
  });
  expect(response.status).toBe(200);
  return response.headers.get('set-cookie')?.split(';')[0] ?? '';
}

/** The class of a browser sends the cookie. */
function createBrowserClass(cookie: string) {
  return class extends EventSource {
    constructor(url: string, { withCredentials }: { readonly withCredentials: boolean }) {
      super(url, {
        fetch: (input, init) =>
          fetch(input, { ...init, headers: { ...init.headers, ...(withCredentials && { cookie }) } }),
      });
    }
  };
}

describe('A subscription by EventSource', () => {
  it.each(['cookie', 'token'] as const)('survives a killed service by %s', async (by) => {
    const service = await startService();
    const cookie = await signIn(service);
    const client = createClient({ url: service.url, headers: { cookie } });
    onTestFinished(() => client.close());
    const { eventId: after } = await client.snapshot('{ posts(limit: 1) { title } }', {});
    await service.create('Before');
    const states: StreamState[] = [];
    const stream = followByEventSource<PostCreated, object>(
      client,
      POST_CREATED,
      {},
      {
        by,
        after,
        EventSource: createBrowserClass(cookie),
        onState: (state) => states.push(state),
      },
    );
    const read = async () => {
      const { value } = await stream.next();
      return value?.type === 'data' ? value.data.postCreated.title : value?.type;
    };
    expect(await read()).toBe('Before');
    await service.create('Between');
    expect(await read()).toBe('Between');
    const next = read();
    await service.restart('SIGKILL', 'Unheard');
    client.retry();
    expect(await next).toBe('Unheard');
    expect(states.some(({ status }) => status === 'reconnecting')).toBe(true);
    stream.close();
  });

  it('says that nobody is signed in, and is closed for an invalid document', async () => {
    const service = await startService();
    const client = createClient({ url: service.url });
    onTestFinished(() => client.close());
    const options = { by: 'cookie', EventSource: createBrowserClass('') } as const;
    const stream = followByEventSource<PostCreated, object>(client, POST_CREATED, {}, options);
    const pending = stream.next();
    await until('the state', () => stream.state.status === 'reconnecting');
    expect(stream.state).toMatchObject({ reason: 'unauthenticated' });
    stream.close();
    expect((await pending).done).toBe(true);
    const cookie = await signIn(service);
    const wrong = followByEventSource(
      client,
      'subscription { nothing }',
      {},
      {
        by: 'cookie',
        EventSource: createBrowserClass(cookie),
      },
    );
    await expect(wrong.next()).rejects.toMatchObject({ code: 'GRAPHQL_VALIDATION_FAILED' });
  });
});
