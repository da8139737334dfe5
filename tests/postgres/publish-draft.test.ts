import { describe, expect, it } from 'vitest';
import { useApp } from '../support/app.ts';
import { type Cut, cuttingProxy } from '../support/database/cutting-proxy.ts';
import { instanceThrough, postgresOf } from '../support/database/postgres.ts';
import { type RawResponse, send } from '../support/keyed.ts';
import { dataOf } from '../support/rejection.ts';

const PUBLISH = 'mutation ($id: ID!) { publishDraft(id: $id) { id title tags author { name } } }';
/** Statuses after which a client asks once more. */
const RETRIED = [409, 503, 504];
/** The mutation begins, finds the draft, writes the post, deletes the draft, stores the response and commits. */
const LEAST_PACKETS = 6;

describe('A keyed publishDraft whose connection is lost', () => {
  const app = useApp();

  it.each<Cut>(['before', 'after'])(
    '%s any packet to the database makes one post of the draft or leaves the draft, and a retry makes the post',
    async (where) => {
      const proxy = await cuttingProxy(postgresOf(app).url);
      const instance = await instanceThrough(app, { url: proxy.url, directUrl: proxy.url });
      const { key, id: authorId } = await app.account();
      const left = async (id: string, title: string) => ({
        drafts: await app.prisma.draft.count({ where: { id } }),
        posts: await app.prisma.post.count({ where: { authorId, title } }),
      });

      /** Publishes a draft while the packet with the number is cut. Returns true if the number was reached. */
      async function publishCut(number: number): Promise<boolean> {
        const title = `packet ${number} ${where}`;
        const create =
          'mutation ($title: String) { createDraft(title: $title, body: "b", tags: ["t"]) { id } }';
        const { id } = dataOf(await app.gql(create, { key, variables: { title } })).createDraft;
        const request = { query: PUBLISH, variables: { id }, key, idempotencyKey: title };
        // The look-up of the credentials is done before.
        await send(instance, { query: '{ viewer { id } }', key });
        const cutsBefore = proxy.cuts;
        proxy.cutPacket(where, number);
        const seen: RawResponse[] = [await send(instance, request)];
        const isCut = proxy.cuts > cutsBefore;
        expect([
          { drafts: 1, posts: 0 },
          { drafts: 0, posts: 1 },
        ]).toContainEqual(await left(id, title));
        while (seen.at(-1)?.status !== 200) {
          expect(RETRIED).toContain(seen.at(-1)?.status);
          seen.push(await send(instance, request));
        }
        expect(await left(id, title)).toEqual({ drafts: 0, posts: 1 });
        const again = await send(app, request);
        expect(again).toMatchObject({ status: 200, replayed: 'true', text: seen.at(-1)?.text });
        return isCut;
      }

      let number = 1;
      while (await publishCut(number)) number += 1;
      expect(number).toBeGreaterThan(LEAST_PACKETS);
    },
  );
});
