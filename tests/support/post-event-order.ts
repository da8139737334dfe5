import { expect } from 'vitest';
import type { TestApp } from './app.ts';
import { send } from './keyed.ts';
import { seededRandom } from './random.ts';

/** By default the size of the gate; a run by hand can be longer. */
const SECONDS = Number(process.env.ORDER_SECONDS ?? 0);
const CHANGES = Number(process.env.ORDER_CHANGES ?? 600);
const CLIENTS = 24;

/** Numbers each event while the transaction still has the post: that is the order of the changes. */
const NUMBER_EVENTS = `
  CREATE TABLE event_numbers (id bigint PRIMARY KEY, number bigint GENERATED ALWAYS AS IDENTITY);
  CREATE FUNCTION number_event() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN INSERT INTO event_numbers (id) VALUES (NEW.id); RETURN NULL; END $$;
  CREATE TRIGGER number_event AFTER INSERT ON events FOR EACH ROW EXECUTE FUNCTION number_event()`;

/** Events of a post whose predecessor in the order of delivery was appended later. */
const DISORDERED = `
  SELECT count(*)::int AS disordered, (SELECT count(*)::int FROM event_numbers) AS events FROM (
    SELECT number, lag(number) OVER (PARTITION BY root_id ORDER BY era, xid, id) AS before
    FROM events JOIN event_numbers USING (id)) AS delivered
  WHERE before > number`;

const CREATE = 'mutation { createPost(title: "t", body: "b") { id } }';
const DELETE = 'mutation ($id: ID!) { deletePost(id: $id) }';
const EDIT = 'mutation ($id: ID!, $title: String!) { updatePost(id: $id, title: $title) { id } }';
const EDIT_ONE =
  'mutation ($id: ID!, $title: String!) { updatePost(id: $id, title: $title, ifVersion: 1) { id } }';
const COMMENT = 'mutation ($id: ID!) { createComment(postId: $id, body: "b") { id } }';
const EDIT_COMMENT = 'mutation ($id: ID!, $title: String!) { updateComment(id: $id, body: $title) { id } }';
const DELETE_COMMENT = 'mutation ($id: ID!) { deleteComment(id: $id) }';
const SEVERAL = `mutation ($id: ID!, $title: String!) {
  a: createComment(postId: $id, body: "b") { id } b: updatePost(id: $id, title: $title) { id } }`;

/**
 * Has 24 clients edit, comment on and delete one post at a time through these instances of `app`, half of the requests with a
 * key, and expects the events of each post in the order of its changes.
 */
export async function expectEventsInOrder(
  app: TestApp,
  instances: readonly Pick<TestApp, 'fetch'>[],
): Promise<void> {
  const database = await app.database.dedicatedClient();
  try {
    await database.query(NUMBER_EVENTS);
    await changeOnePost(app, instances);
    const { rows } = await database.query<{ disordered: number; events: number }>(DISORDERED);
    expect(rows).toEqual([{ disordered: 0, events: expect.any(Number) }]);
    expect(rows[0]?.events).toBeGreaterThan(CHANGES / 3);
  } finally {
    await database.end();
  }
}

async function changeOnePost(app: TestApp, instances: readonly Pick<TestApp, 'fetch'>[]): Promise<void> {
  const { key } = await app.account();
  const random = seededRandom('order of the events of a post');
  const percent = () => random.below(100);
  let count = 0;
  const endMs = performance.now() + SECONDS * 1_000;
  const goesOn = () => count < CHANGES || performance.now() < endMs;

  async function run(instance: Pick<TestApp, 'fetch'>, query: string, variables: object) {
    count += 1;
    const keyed = percent() < 50 ? { idempotencyKey: `change ${count}` } : {};
    const { text } = await send(instance, { query, variables, key, ...keyed });
    return JSON.parse(text) as { data?: Record<string, { id: string } | boolean> | null };
  }

  const newPost = async () => {
    const created = (await run(app, CREATE, {})).data?.createPost;
    if (typeof created !== 'object') throw new Error('the post was not created');
    return created.id;
  };

  let post = { id: await newPost(), comments: [] as string[] };
  async function client(instance: Pick<TestApp, 'fetch'>): Promise<void> {
    while (goesOn()) {
      const { id, comments } = post;
      const title = `t${count}`;
      const choice = percent();
      const known = comments.length === 0 ? undefined : random.pick(comments);
      if (choice < 2) {
        post = { id: await newPost(), comments: [] };
        await run(instance, DELETE, { id });
      } else if (choice < 40) await run(instance, choice < 30 ? EDIT : EDIT_ONE, { id, title });
      else if (choice < 50) await run(instance, SEVERAL, { id, title });
      else if (choice < 70 || known === undefined) {
        const created = (await run(instance, COMMENT, { id })).data?.createComment;
        if (typeof created === 'object') comments.push(created.id);
      } else if (choice < 90) await run(instance, EDIT_COMMENT, { id: known, title });
      else await run(instance, DELETE_COMMENT, { id: known });
    }
  }
  await Promise.all(
    Array.from({ length: CLIENTS }, (_, at) => client(instances[at % instances.length] ?? app)),
  );
}
