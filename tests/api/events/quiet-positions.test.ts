import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { decodeEventId } from '../../../src/engine/events/event.ts';
import { type TestApp, useAccount, useApp } from '../../support/app.ts';
import { eventsReadable } from '../../support/database/events.ts';
import { graphqlPost } from '../../support/graphql.ts';
import { readMetric } from '../../support/metrics.ts';
import { secondInstance } from '../../support/second-instance.ts';
import {
  CHANGES,
  type ChangeStream,
  subscribeToChanges,
  told,
  toldIn,
  Writer,
} from '../../support/streams/changes.ts';
import { type EventStream, readEventStream } from '../../support/streams/event-stream.ts';
import { ACCEPT_MULTIPART, openMultipart } from '../../support/streams/multipart-stream.ts';
import { issueToken, requestByToken } from '../../support/streams/stream-token.ts';
import { requestStream, subscribe, titlesOf } from '../../support/streams/subscriber.ts';

const app = useApp({ settings: { MAX_STREAMS_PER_CLIENT: '1000' } });
const ada = useAccount(app);
const linus = useAccount(app);

/** The post on which nothing happens, and the one on which all happens. */
let quiet = '';
let busy = '';
let writer: Writer;
/** An instance whose streams keep the time of the test. */
let instance: Pick<TestApp, 'fetch'>;
beforeEach(async () => {
  writer = new Writer(app);
  quiet = await writer.createPost(ada);
  busy = await writer.createPost(ada);
  await eventsReadable(app);
  writer.changes.length = 0;
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  instance = secondInstance(app);
});

/** Lets time pass, second by second, with what is to be done in each. */
async function pass(seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second += 1) {
    vi.advanceTimersByTime(1_000);
    for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Lets time pass until a stream was told another position than the one that it began with. */
async function passUntilMoved(stream: ChangeStream): Promise<void> {
  while (stream.position === stream.startId) await pass(1);
}

/** Somebody else at the same instance has got all that has happened. */
async function changeElsewhere(times = 1): Promise<void> {
  const witness = await subscribeToChanges(instance, { key: linus.key });
  for (let n = 0; n < times; n += 1) await writer.createComment(linus, busy);
  await witness.count(times);
  await witness.close();
}

const numberOf = (id: string | undefined): number => decodeEventId(id ?? '')?.event.id ?? Number.NaN;

async function newest(): Promise<number> {
  const event = await app.prisma.event.findFirst({ orderBy: { id: 'desc' } });
  return Number(event?.id);
}

/** The rest of what a stream has been sent when so many blocks have come. */
async function blocksOf(stream: EventStream, count: number): Promise<(string | undefined)[]> {
  const blocks: (string | undefined)[] = [];
  while (blocks.length < count) blocks.push((await stream.block())?.raw);
  return blocks;
}

describe('A stream whose filter lets nothing through', () => {
  const open = async (header?: string) => {
    const options = { key: ada.key, query: CHANGES, variables: { post: quiet }, header };
    const stream = readEventStream(await requestStream(instance, options));
    return { stream, startId: (await stream.block())?.id ?? '' };
  };

  it('is told its position alone after 60 seconds, once as long as it stays there', async () => {
    const { stream } = await open();
    await changeElsewhere(3);
    await pass(59);
    expect(await blocksOf(stream, 4)).toEqual([':', ':', ':', ':']);
    await pass(12);
    const [beat, position] = await blocksOf(stream, 2);
    expect([beat, position]).toEqual([':', expect.stringMatching(/^id: \S+$/)]);
    expect(numberOf(position?.slice('id: '.length))).toBe(await newest());
    await pass(72);
    expect(await blocksOf(stream, 6)).toEqual([':', ':', ':', ':', ':', ':']);
    await changeElsewhere();
    await pass(62);
    const later = await blocksOf(stream, 6);
    expect(later.filter((block) => block !== ':')).toEqual([expect.stringMatching(/^id: \S+$/)]);
    expect(later.map((block) => numberOf(block?.slice('id: '.length)))).toContain(await newest());
  });

  it('loses nothing that comes after the position, and gets nothing of before it, whatever it goes on with', async () => {
    const stream = await subscribeToChanges(instance, { key: ada.key, filter: { post: quiet } });
    await changeElsewhere(2);
    await passUntilMoved(stream);
    expect(stream.got).toEqual([]);
    const header = stream.position;
    await stream.close();
    writer.changes.length = 0;
    await writer.createComment(linus, busy);
    await writer.updatePost(ada, quiet, 'not quiet any more');
    await writer.createPost(ada, 'new');
    const all = told(writer.changes);
    const same = await subscribeToChanges(instance, { key: ada.key, filter: { post: quiet }, header });
    expect(toldIn(await same.count(1))).toEqual([all[1]]);
    const others = await subscribeToChanges(app, { key: linus.key, header });
    expect(toldIn(await others.count(3))).toEqual(all);
    const posts = await subscribe(app, { key: linus.key, header });
    expect(titlesOf(await posts.until('new'))).toEqual(['new']);
  });

  it('is not told it while there are events for it', async () => {
    const { stream } = await open();
    for (let round = 0; round < 4; round += 1) {
      await changeElsewhere();
      await pass(23);
      await writer.createComment(linus, quiet);
      const { id } = (await stream.event()) ?? {};
      expect(numberOf(id)).toBe(await newest());
      await pass(2);
    }
    await changeElsewhere();
    await pass(36);
    expect(await blocksOf(stream, 3)).toEqual([':', ':', ':']);
  });

  it('is told it for a filter that nothing can ever match', async () => {
    const stream = await subscribeToChanges(instance, { key: ada.key, filter: { author: 'no id' } });
    await changeElsewhere();
    await passUntilMoved(stream);
    expect(numberOf(stream.position)).toBe(await newest());
  });

  it('is told nothing of it over multipart', async () => {
    const options = { key: ada.key, query: CHANGES, variables: { post: quiet }, accept: ACCEPT_MULTIPART };
    const stream = openMultipart(await requestStream(instance, options));
    onTestFinished(() => stream.close());
    expect((await stream.part())?.json).toBe('{}');
    await changeElsewhere();
    await pass(74);
    for (let beat = 0; beat < 6; beat += 1) expect((await stream.part())?.json).toBe('{}');
    await writer.createComment(linus, quiet);
    expect((await stream.part())?.payload).toMatchObject({ data: { changes: { kind: 'COMMENT_CREATED' } } });
  });
});

describe('Visible heartbeats', () => {
  const authorization = () => ({ authorization: `Bearer ${ada.key}` });
  const search = (parameters: Record<string, string>) => `/graphql?${new URLSearchParams(parameters)}`;
  const variables = () => ({ post: quiet });
  const asking = (accept = 'text/event-stream') => ({ accept, ...authorization() });
  const body = (extensions: unknown) => ({
    method: 'POST',
    headers: { 'content-type': 'application/json', ...asking() },
    body: JSON.stringify({ query: CHANGES, variables: variables(), extensions }),
  });
  const ways: Readonly<Record<string, () => Promise<Response>>> = {
    'in the address of a GET': () =>
      instance.fetch(
        search({ query: CHANGES, variables: JSON.stringify(variables()), heartbeat: 'visible' }),
        {
          headers: asking(),
        },
      ),
    'in the address of a POST': () => instance.fetch(search({ heartbeat: 'visible' }), body(undefined)),
    'in the extensions of a body': () => instance.fetch('/graphql', body({ heartbeat: 'visible' })),
    'beside a stream token': async () => {
      const token = await issueToken(app, authorization(), { query: CHANGES, variables: variables() });
      return requestByToken(instance, token, { search: { heartbeat: 'visible' } });
    },
  };

  it.each(Object.keys(ways))('asked for %s are events with the present position', async (way) => {
    const response = await ways[way]?.();
    if (response === undefined) throw new Error('there is no such way');
    expect(response.status).toBe(200);
    const stream = readEventStream(response);
    const { id: startId } = (await stream.block()) ?? {};
    await pass(13);
    expect((await stream.block())?.raw).toBe(`id: ${startId}\nevent: heartbeat\ndata: {}`);
    await changeElsewhere(2);
    await pass(12);
    const moved = await stream.block();
    expect(moved).toMatchObject({ event: 'heartbeat', data: '{}', retry: undefined });
    expect(numberOf(moved?.id)).toBe(await newest());
    await writer.createComment(linus, quiet);
    const event = await stream.block();
    expect(event?.event).toBe('next');
    await pass(12);
    expect(await stream.block()).toMatchObject({ event: 'heartbeat', id: event?.id });
    // From the heartbeat before it comes what came after it.
    const options = { key: linus.key, filter: variables(), header: moved?.id };
    const resumed = await subscribeToChanges(app, options);
    expect((await resumed.count(1)).map(({ id }) => id)).toEqual([event?.id]);
  });

  it('do not tell groups apart, and are seen by those alone who ask for them', async () => {
    const seeing = readEventStream(await instance.fetch('/graphql', body({ heartbeat: 'visible' })));
    const others = readEventStream(await instance.fetch('/graphql', body({ heartbeat: null })));
    const multipart = openMultipart(
      await instance.fetch(search({ heartbeat: 'visible' }), {
        ...body(undefined),
        headers: { 'content-type': 'application/json', ...asking(ACCEPT_MULTIPART) },
      }),
    );
    onTestFinished(() => multipart.close());
    for (const stream of [seeing, others]) await stream.block();
    expect((await multipart.part())?.json).toBe('{}');
    expect(await readMetric(instance, 'content_graph_distinct_subscriptions')).toBe(1);
    await pass(13);
    expect((await seeing.block())?.event).toBe('heartbeat');
    expect((await others.block())?.raw).toBe(':');
    expect((await multipart.part())?.json).toBe('{}');
    await writer.createComment(linus, quiet);
    const [one, two] = [await seeing.block(), await others.block()];
    expect(one).toEqual(two);
    expect((await multipart.payload())?.extensions.eventId).toBe(one?.id);
  });

  it('take the place of the position alone', async () => {
    const stream = readEventStream(await instance.fetch('/graphql', body({ heartbeat: 'visible' })));
    await stream.block();
    await changeElsewhere();
    await pass(74);
    const events: (string | undefined)[] = [];
    for (let beat = 0; beat < 6; beat += 1) events.push((await stream.block())?.event);
    expect(events).toEqual(events.map(() => 'heartbeat'));
  });

  it('of `postCreated` are the same', async () => {
    const query = 'subscription { postCreated { title } }';
    const headers = asking();
    const stream = readEventStream(
      await instance.fetch(search({ query, heartbeat: 'visible' }), { headers }),
    );
    await stream.block();
    await changeElsewhere();
    await pass(13);
    const { id, event } = (await stream.block()) ?? {};
    expect([event, numberOf(id)]).toEqual(['heartbeat', await newest()]);
  });

  it('are rejected where the value is any other', async () => {
    const rejected = async (response: Response) => [
      response.status,
      ((await response.json()) as { errors: readonly { extensions: { code: string } }[] }).errors[0]
        ?.extensions.code,
    ];
    for (const heartbeat of ['', 'hidden', 'VISIBLE', 'true', 'visible '])
      expect([
        heartbeat,
        await rejected(await instance.fetch(search({ heartbeat }), body(undefined))),
      ]).toEqual([heartbeat, [400, 'BAD_REQUEST']]);
    for (const heartbeat of ['', 'invisible', true, 1, {}, ['visible']])
      expect([heartbeat, await rejected(await instance.fetch('/graphql', body({ heartbeat })))]).toEqual([
        heartbeat,
        [400, 'BAD_REQUEST'],
      ]);
    const token = await issueToken(app, authorization(), { query: CHANGES, variables: variables() });
    expect(await rejected(await requestByToken(instance, token, { search: { heartbeat: 'no' } }))).toEqual([
      400,
      'BAD_REQUEST',
    ]);
    expect(await readMetric(instance, 'content_graph_event_streams_open')).toBe(0);
    // What is no subscription has no heartbeats.
    const result = await instance.fetch(
      search({ heartbeat: 'no' }),
      graphqlPost('{ viewer { id } }', { key: ada.key }),
    );
    expect(result.status).toBe(200);
  });
});
