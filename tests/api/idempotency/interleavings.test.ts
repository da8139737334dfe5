import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import { createPost } from '../../support/content.ts';
import { type RawAnswer, sendUntilAnswered, storedFor } from '../../support/keyed.ts';

interface Attempt {
  readonly account: 0 | 1;
  readonly name: string;
  readonly payload: number;
}

const attempt: fc.Arbitrary<Attempt> = fc.record({
  account: fc.constantFrom(0, 1),
  name: fc.constantFrom('a', 'b', 'c'),
  payload: fc.nat({ max: 3 }),
});
/** Requests that are sent at once, then others, and so on. */
const history = fc.array(fc.array(attempt, { minLength: 1, maxLength: 8 }), { minLength: 1, maxLength: 5 });

describe('Keyed mutations in any order and at once', () => {
  const app = useApp();

  it('run once for each account and key, all else being replays of that or 422', async () => {
    const accounts = [await app.account(), await app.account()] as const;
    const foreign = await createPost(app, (await app.account()).key);
    let runs = 0;
    const payloads = (title: string) => [
      { query: `mutation { createPost(title: "${title} zero", body: "b") { id title } }` },
      // More than a statement.
      { query: `mutation { createPost(title: "${title} one", body: "b") { id author { id } } }` },
      // Refused with 403, and the first field undone.
      {
        query: `mutation { createPost(title: "${title} two", body: "b") { id } deletePost(id: "${foreign}") }`,
      },
      {
        query: 'mutation ($title: String!) { createPost(title: $title, body: "b") { id } }',
        variables: { title: `${title} three` },
      },
    ];

    await fc.assert(
      fc.asyncProperty(history, async (rounds) => {
        runs += 1;
        const title = `run ${runs}`;
        const storedBefore = await Promise.all(accounts.map(({ id }) => storedFor(app, id)));
        const answered = new Map<string, { round: number; payload: number; answer: RawAnswer }[]>();
        for (const [round, attempts] of rounds.entries()) {
          await Promise.all(
            attempts.map(async ({ account, name, payload }) => {
              const request = payloads(title)[payload];
              if (request === undefined) throw new Error('no such payload');
              const idempotencyKey = `${title} ${name}`;
              const answer = await sendUntilAnswered(app, {
                ...request,
                key: accounts[account].key,
                idempotencyKey,
              });
              const slot = `${account} ${name}`;
              answered.set(slot, [...(answered.get(slot) ?? []), { round, payload, answer }]);
            }),
          );
        }

        let done = 0;
        for (const answers of answered.values()) {
          const firsts = answers.filter(({ answer }) => answer.replayed === null && answer.status !== 422);
          expect(firsts).toHaveLength(1);
          const [first] = firsts;
          if (first === undefined) return;
          expect(first.round).toBe(Math.min(...answers.map(({ round }) => round)));
          expect(first.answer.status).toBe(first.payload === 2 ? 403 : 200);
          done += first.payload === 2 ? 0 : 1;
          for (const { payload, answer } of answers) {
            if (payload !== first.payload) expect(answer).toMatchObject({ status: 422, replayed: null });
            else expect(answer).toMatchObject({ status: first.answer.status, text: first.answer.text });
          }
        }
        const posts = await app.prisma.post.count({ where: { title: { startsWith: `${title} ` } } });
        expect(posts).toBe(done);
        const stored = await Promise.all(accounts.map(({ id }) => storedFor(app, id)));
        const added = stored.map((count, index) => count - (storedBefore[index] ?? 0));
        expect(added[0]).toBe([...answered.keys()].filter((slot) => slot.startsWith('0')).length);
        expect(added[1]).toBe([...answered.keys()].filter((slot) => slot.startsWith('1')).length);
      }),
      { numRuns: 25 },
    );
  });
});
