import { describe, expect, it } from 'vitest';
import type { Database } from '../../../src/database/database.ts';
import type { Statement } from '../../../src/database/statement.ts';
import { CHECK_DOCUMENTS, FIND_DOCUMENTS } from '../../../src/engine/documents/trusted/document-store.ts';
import { useAccount, useApp } from '../../support/app.ts';
import { createPost } from '../../support/content.ts';
import { watchedDatabase } from '../../support/database/watched.ts';
import { secondInstance } from '../../support/second-instance.ts';
import { readEventStream } from '../../support/streams/event-stream.ts';
import { ofEvents, openNamed, requestNamed, STREAM_WAYS } from '../../support/streams/named-stream.ts';
import { issueToken, openByToken } from '../../support/streams/stream-token.ts';
import { NAMINGS, publish, published, retire } from '../../support/trusted-documents.ts';

const app = useApp();
const caller = useAccount(app);

const TITLES = 'subscription { postCreated { title } }';
const REFORMATTED = 'subscription # of titles\n{ postCreated { title, } }';
const [SSE] = STREAM_WAYS;
const RETIRED = {
  errors: [
    {
      message: 'The document of this stream was retired. Subscribe with a published document.',
      extensions: { code: 'DOCUMENT_NOT_FOUND' },
    },
  ],
};

/** An instance that never looks by itself whether documents have been retired: it is told of it. */
const instanceOf = (trustedDocuments: typeof app.config.trustedDocuments) =>
  secondInstance(app, { config: { ...app.config, trustedDocuments, credentialRecheckMs: 2 ** 31 - 1 } });

describe('retiring a document', () => {
  it.each(STREAM_WAYS.flatMap((way) => NAMINGS.map(([naming, members]) => ({ ...way, naming, members }))))(
    'ends its streams by $naming over $name',
    async ({ members, ...way }) => {
      const id = await published(app, TITLES);
      const stream = await openNamed(instanceOf('allowed'), members(id), way, caller.key);
      await createPost(app, caller.key, { title: 'before' });
      expect(await stream.payload()).toMatchObject({ data: { postCreated: { title: 'before' } } });
      expect(await retire(app, id)).toBe(1);
      expect(await stream.payload()).toMatchObject(RETIRED);
      await stream.ended();
    },
  );

  it('ends those that a stream token opened, on all instances', async () => {
    const id = await published(app, TITLES);
    const token = await issueToken(app, { authorization: `Bearer ${caller.key}` }, { documentId: id });
    const opened = [
      await openByToken(instanceOf('allowed'), token),
      await openByToken(instanceOf('required'), token),
    ];
    await retire(app, id);
    for (const { stream } of opened) {
      expect(await stream.next()).toEqual(RETIRED);
      await ofEvents(stream).ended();
    }
  });

  it('leaves those of its text open where texts are allowed, though they share their events', async () => {
    const id = await published(app, TITLES);
    const byText = await openNamed(app, { query: TITLES }, SSE, caller.key);
    const byId = await openNamed(app, { documentId: id }, SSE, caller.key);
    await retire(app, id);
    expect(await byId.payload()).toEqual(RETIRED);
    await createPost(app, caller.key, { title: 'after' });
    expect(await byText.payload()).toEqual({ data: { postCreated: { title: 'after' } } });
  });

  it('ends those of its text, however that is printed, where only listed texts may run', async () => {
    const listed = instanceOf('listed');
    const id = await published(app, 'subscription { postCreated { title body } }');
    const texts = [
      'subscription { postCreated { title body } }',
      'subscription { postCreated {\n title,\n body } }',
    ];
    const streams = await Promise.all(texts.map((query) => openNamed(listed, { query }, SSE, caller.key)));
    streams.push(await openNamed(listed, { documentId: id }, SSE, caller.key));
    await retire(app, id);
    for (const stream of streams) {
      expect(await stream.payload()).toEqual(RETIRED);
      await stream.ended();
    }
  });

  it('leaves those of its text open where another document has the same', async () => {
    const listed = instanceOf('listed');
    const id = await published(app, TITLES);
    await published(app, REFORMATTED);
    const byText = await openNamed(listed, { query: TITLES }, SSE, caller.key);
    const byId = await openNamed(listed, { documentId: id }, SSE, caller.key);
    await retire(app, id);
    expect(await byId.payload()).toEqual(RETIRED);
    await createPost(app, caller.key, { title: 'still listed' });
    expect(await byText.payload()).toEqual({ data: { postCreated: { title: 'still listed' } } });
  });

  it('leaves those of a document open that another release has, until that ends too', async () => {
    const id = await published(app, TITLES, { client: 'app', release: 'one' });
    await publish(app, { [id]: TITLES }, { client: 'app', release: 'two' });
    const other = await published(app, TITLES);
    const stream = await openNamed(app, { documentId: id }, SSE, caller.key);
    const ending = await openNamed(app, { documentId: other }, SSE, caller.key);
    expect(await retire(app, '--client', 'app', '--release', 'one')).toBe(0);
    await retire(app, other);
    expect(await ending.payload()).toEqual(RETIRED);
    await createPost(app, caller.key, { title: 'goes on' });
    expect(await stream.payload()).toEqual({ data: { postCreated: { title: 'goes on' } } });
    expect(await retire(app, '--client', 'app', '--release', 'two')).toBe(1);
    expect(await stream.payload()).toEqual(RETIRED);
    await stream.ended();
  });
});

describe('retiring a document while a stream of it opens', () => {
  /** The same database, which does something else between having read for a statement and telling of it. */
  const heldAfter = (which: Statement<unknown>, work: () => Promise<unknown>): Database =>
    watchedDatabase(
      app.database,
      () => undefined,
      (_rows, statement) => (statement.text === which.text ? work() : undefined),
    );

  it('ends it where its document was read before', async () => {
    const id = await published(app, TITLES);
    let retired: Promise<number> | undefined;
    const database = heldAfter(FIND_DOCUMENTS, () => (retired ??= retire(app, id)));
    const stream = await openNamed(secondInstance(app, { database }), { documentId: id }, SSE, caller.key);
    expect(await retired).toBe(1);
    expect(await stream.payload()).toEqual(RETIRED);
    await stream.ended();
  });

  it('ends it where it opens while the instance looks what is published', async () => {
    const id = await published(app, TITLES);
    const looking = Promise.withResolvers<void>();
    const opened = Promise.withResolvers<void>();
    let held = false;
    let found = 0;
    const database = watchedDatabase(
      heldAfter(CHECK_DOCUMENTS, async () => {
        if (!held) return;
        looking.resolve();
        await opened.promise;
      }),
      (statement) => {
        if (statement.text === FIND_DOCUMENTS.text) found += 1;
      },
    );
    const instance = secondInstance(app, { database });
    // Once it hears of what is retired, it remembers what is published.
    await expect
      .poll(async () => {
        found = 0;
        await (await requestNamed(instance, { documentId: id }, SSE, caller.key)).body?.cancel();
        return found;
      })
      .toBe(0);
    held = true;
    await retire(app, id);
    await looking.promise;
    const response = await requestNamed(instance, { documentId: id }, SSE, caller.key);
    expect(response.status).toBe(200);
    opened.resolve();
    const events = ofEvents(readEventStream(response));
    expect(await events.payload()).toEqual(RETIRED);
    await events.ended();
  });

  it('leaves none open, whenever it comes', async () => {
    for (let round = 0; round < 10; round += 1) {
      const id = await published(app, TITLES);
      const opening = Array.from({ length: 4 }, async () => {
        const response = await requestNamed(app, { documentId: id }, SSE, caller.key);
        if (response.status === 404) return response.body?.cancel();
        const events = ofEvents(readEventStream(response));
        expect(await events.payload()).toEqual(RETIRED);
        return events.ended();
      });
      await Promise.all([...opening, retire(app, id)]);
    }
  });
});
