import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../support/processes/process.ts';
import { type ServerProcess, startServer } from '../support/processes/server.ts';
import { countRows } from './counting.ts';
import { createPost } from './keyed-posts.ts';
import { makeKey, ownDatabase, UNLIMITED } from './own-database.ts';

const KEYS = Number(process.env.CRASH_KEYS ?? 500);
const DUPLICATES = 16;
/** Every fifth asks for something else under the same key; now and then it comes first. */
const isOther = (duplicate: number, key: number) => (duplicate + key) % 5 === 0;
/** So many keys at once. */
const CLIENTS = 4;

type GraphQLResponse = NonNullable<Awaited<ReturnType<typeof createPost>>>;

describe('Two processes on one database that get every keyed mutation at once', () => {
  it.each([
    ['transaction', 'transaction'],
    ['statement', 'statement'],
    ['transaction', 'statement'],
  ] as const)('do each once and give no wrong answer, by %s and %s', async (...ways) => {
    const database = { DATABASE_URL: await ownDatabase() };
    const folders = [await temporaryFolder(), await temporaryFolder()] as const;
    const servers: ServerProcess[] = [];
    for (const folder of folders) servers.push(await startServer(folder, { ...UNLIMITED, ...database }));
    const apiKey = await makeKey(folders[0], database);

    /** As a client does that is told to come back. */
    async function ask(turn: number, title: string, idempotencyKey: string): Promise<GraphQLResponse> {
      for (;;) {
        const server = servers[turn % servers.length];
        const way = ways[turn % ways.length];
        const response = server && (await createPost(server.origin, apiKey, title, { idempotencyKey, way }));
        if (response === undefined) throw new Error('an answer was lost');
        if (response.status !== 409) return response;
      }
    }

    const wrong: string[] = [];
    const seen = { first: 0, replayed: 0, rejected: 0 };
    async function race(number: number): Promise<void> {
      const titleOf = (duplicate: number) => `crash ${number}${isOther(duplicate, number) ? ' other' : ''}`;
      const responses = await Promise.all(
        Array.from({ length: DUPLICATES }, async (_, duplicate) => ({
          title: titleOf(duplicate),
          ...(await ask(duplicate + number, titleOf(duplicate), `key ${number}`)),
        })),
      );
      const done = responses.filter(({ status }) => status === 200);
      const [winner] = done;
      const first = done.filter(({ replayed }) => !replayed).length;
      seen.first += first;
      seen.replayed += done.length - first;
      if (first !== 1) wrong.push(`${number}: done ${first} times`);
      for (const { title, status, text } of responses) {
        if (title === winner?.title && status === 200 && text === winner.text) continue;
        if (title !== winner?.title && status === 422) seen.rejected += 1;
        else wrong.push(`${number}: ${status} ${text}`);
      }
    }
    const numbers = Array.from({ length: KEYS }, (_, number) => number).values();
    await Promise.all(
      Array.from({ length: CLIENTS }, async () => {
        for (const number of numbers) await race(number);
      }),
    );

    expect(wrong).toEqual([]);
    expect(await countRows(database)).toMatchObject({ posts: KEYS, events: KEYS, stored: KEYS });
    expect(seen.first).toBe(KEYS);
    expect(seen.first + seen.replayed + seen.rejected).toBe(KEYS * DUPLICATES);
    process.stdout.write(
      `by ${ways.join(' and ')}: ${seen.first} done, ${seen.replayed} replayed, ${seen.rejected} refused with 422\n`,
    );
  });
});
