import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { newId } from '../../src/platform/ids.ts';
import { useApp } from '../support/app.ts';
import { createPost } from '../support/content.ts';
import { connect, postgresOf } from '../support/database/postgres.ts';
import { secondInstance } from '../support/second-instance.ts';
import { subscribe, titlesOf } from '../support/streams/subscriber.ts';

describe('the order of events', () => {
  const app = useApp({ settings: { MAX_STREAMS_PER_CLIENT: '1000' } });
  let author = { id: '', key: '' };
  let made = 0;
  beforeAll(async () => {
    author = await app.account();
  });
  let names = { older: '', first: '', second: '', third: '' };
  beforeEach(() => {
    made += 1;
    names = {
      older: `older ${made}`,
      first: `first ${made}`,
      second: `second ${made}`,
      third: `third ${made}`,
    };
  });
  const post = (title: string) => createPost(app, author.key, { title });
  const open = (header?: string) => subscribe(app, { key: author.key, header });

  /** A transaction of another program that has written something and stays open. */
  async function openTransaction() {
    const client = await connect(postgresOf(app).url);
    await client.query('BEGIN');
    await client.query('SELECT pg_current_xact_id()');
    return {
      async post(title: string) {
        const id = newId();
        await client.query('INSERT INTO posts (id, title, body, author_id) VALUES ($1, $2, $3, $4)', [
          id,
          title,
          'b',
          author.id,
        ]);
        await client.query("INSERT INTO events (kind, root_id) VALUES ('POST_CREATED', $1)", [id]);
      },
      commit: () => client.query('COMMIT'),
      rollback: () => client.query('ROLLBACK'),
    };
  }

  it('is that of transactions: an older one that is open holds back what was committed after it began', async () => {
    const early = await open();
    const { older, first, second } = names;
    const transaction = await openTransaction();
    await post(first);
    await transaction.post(older);
    await post(second);
    await transaction.commit();
    const expected = [older, first, second];
    expect(titlesOf(await early.until(second))).toEqual(expected);
    expect(titlesOf(await (await open(early.startId)).until(second))).toEqual(expected);
  });

  it('goes on without an older transaction that is rolled back', async () => {
    const stream = await open();
    const { older, first, second } = names;
    const transaction = await openTransaction();
    await transaction.post(older);
    await post(first);
    await post(second);
    await transaction.rollback();
    expect(titlesOf(await stream.until(second))).toEqual([first, second]);
  });

  it('leaves out what was committed before a subscriber came, however late it becomes readable', async () => {
    const { older, first, second, third } = names;
    const transaction = await openTransaction();
    await transaction.post(older);
    await post(first);
    const late = await open();
    await post(second);
    const reopened = await open(late.startId);
    await transaction.commit();
    expect(titlesOf(await late.until(second))).toEqual([older, second]);
    const [ofOlder] = await reopened.until(older);
    await reopened.close();
    const resumed = await open(ofOlder?.id);
    await post(third);
    expect(titlesOf(await resumed.until(third))).toEqual([second, third]);
  });

  it('leaves them out however many they are, and whatever was rolled back between them', async () => {
    const { older, first, second } = names;
    const transaction = await openTransaction();
    await transaction.post(older);
    const pause = 'SELECT setval(pg_get_serial_sequence($1, $2), nextval(pg_get_serial_sequence($1, $2)))';
    const client = await connect(postgresOf(app).url);
    for (let n = 0; n < 45; n += 1) {
      await post(`${first} ${n}`);
      // A number that no event has, as a mutation leaves it that was rolled back.
      await client.query(pause, ['public.events', 'id']);
    }
    const late = await open();
    const reopened = await open(late.startId);
    await post(second);
    await transaction.commit();
    expect(titlesOf(await late.until(second))).toEqual([older, second]);
    expect(titlesOf(await reopened.until(second))).toEqual([older, second]);
  });

  it('is the same at every instance', async () => {
    const streams = [await open(), await subscribe(secondInstance(app), { key: author.key })];
    await Promise.all(Array.from({ length: 20 }, (_, index) => post(`${names.first} ${index}`)));
    await post(names.third);
    const [one, two] = await Promise.all(streams.map(({ until }) => until(names.third)));
    expect(one).toEqual(two);
    expect(one).toHaveLength(21);
  });

  it('survives the loss of every database connection', async () => {
    const other = secondInstance(app);
    const live = await subscribe(other, { key: author.key });
    await post(names.first);
    const seen = await live.until(names.first);
    const client = await connect(postgresOf(app).url);
    await client.query(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
    );
    // Of the connections in the pool each is found dead by whoever is lent it.
    const query = `mutation { createPost(title: "${names.second}", body: "b") { id } }`;
    const keyed = { key: author.key, headers: { 'idempotency-key': names.second } };
    await expect.poll(async () => (await app.gql(query, keyed)).status).toBe(200);
    const resumed = await subscribe(other, { key: author.key, header: seen.at(-1)?.id });
    expect(titlesOf(await resumed.until(names.second))).toEqual([names.second]);
  });
});
