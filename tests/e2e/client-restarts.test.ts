import { describe, expect, it, onTestFinished } from 'vitest';
import { createClient } from '../../packages/client/src/index.ts';
import { type LiveService, startService } from '../clients/live-service.ts';
import { until } from '../support/processes/process.ts';

const CREATE_POST = 'mutation ($title: String!) { createPost(title: $title, body: "Body") { id } }';
const POST_CREATED = 'subscription { postCreated { title } }';
const POSTS = 24;
/** A long budget: only a service that does not come back fails the test. */
const retry = { mutationBudgetMs: 300_000, queryBudgetMs: 300_000 };

interface PostCreated {
  readonly postCreated: { readonly title: string };
}

function openClient({ url, headers }: LiveService) {
  const client = createClient({ url, headers, retry });
  onTestFinished(() => client.close());
  return client;
}

const titles = Array.from({ length: POSTS }, (_, index) => `Post ${index + 1}`);

describe('A client of a service that is killed twice', () => {
  it('writes each post once, and receives each event once and in order', async () => {
    const service = await startService();
    const client = openClient(service);
    const received: string[] = [];
    const states: string[] = [];
    const stream = client.subscribe<PostCreated, object>(
      POST_CREATED,
      {},
      {
        onState: (state) => states.push(state.status === 'live' ? state.since : state.status),
      },
    );
    const reading = (async () => {
      for await (const event of stream) {
        received.push(event.type === 'data' ? event.data.postCreated.title : 'missed');
        if (received.length === POSTS) break;
      }
    })();
    await until('the stream', () => stream.state.status === 'live');
    const writing = (async () => {
      for (const title of titles) await client.mutate(CREATE_POST, { title });
    })();
    for (const share of [1 / 3, 2 / 3]) {
      await until('some posts', () => received.length >= POSTS * share);
      await service.end('SIGKILL');
      await service.start();
      client.retry();
    }
    await Promise.all([writing, reading]);
    expect(received).toEqual(titles);
    expect(states.filter((state) => state === 'resumed').length).toBeGreaterThanOrEqual(1);
    expect(states).not.toContain('missedEvents');
  });

  it('opens its stream although the service was down, and resumes in another process', async () => {
    const service = await startService();
    const { eventId } = await openClient(service).snapshot('{ posts(limit: 1) { title } }', {});
    await service.create('before');
    await service.end('SIGKILL');
    let position: string | undefined = eventId;
    const store = {
      load: () => position,
      save(id: string) {
        position = id;
      },
    };
    const stream = openClient(service).subscribe<PostCreated, object>(POST_CREATED, {}, { position: store });
    const first = stream.next();
    await until('the first failed attempt', () => stream.state.status === 'reconnecting');
    await service.start();
    expect((await first).value).toMatchObject({ data: { postCreated: { title: 'before' } } });
    const second = stream.next();
    await service.create('between');
    await second;
    // The process ends before it asks for the next event, so the second event is handled again.
    stream.close();
    const next = openClient(service).subscribe<PostCreated, object>(POST_CREATED, {}, { position: store });
    expect((await next.next()).value).toMatchObject({ data: { postCreated: { title: 'between' } } });
    await next.return();
  });
});
