import { expect, it } from 'vitest';
import { useApp } from '../support/app.ts';
import { besidePool, postgresOf } from '../support/database/postgres.ts';
import { seededRandom } from '../support/random.ts';
import { instanceOnOwnPool } from '../support/second-instance.ts';

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

const app = useApp();

it('Events of a post are in the order of its changes, however many clients change one post at once', async () => {
  const database = await besidePool(app);
  await database.query(NUMBER_EVENTS);
  const small = { ...app.config, database: { ...postgresOf(app), poolSize: 3 } };
  const instances = [app, await instanceOnOwnPool(app), await instanceOnOwnPool(app, small)];
  const { key } = await app.account();
  const random = seededRandom('order of the events of a post');
  const percent = () => random.below(100);
  let count = 0;
  const endMs = performance.now() + SECONDS * 1_000;
  const goesOn = () => count < CHANGES || performance.now() < endMs;

  async function run(instance: (typeof instances)[number], query: string, variables: object) {
    count += 1;
    const keyed = percent() < 50 ? { 'idempotency-key': `change ${count}` } : {};
    const response = await instance.fetch('/graphql', {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}`, ...keyed },
      body: JSON.stringify({ query, variables }),
    });
    return (await response.json()) as { data?: Record<string, { id: string } | boolean> | null };
  }

  const newPost = async () => {
    const created = (await run(app, 'mutation { createPost(title: "t", body: "b") { id } }', {})).data
      ?.createPost;
    if (typeof created !== 'object') throw new Error('the post was not created');
    return created.id;
  };
  const edit = 'mutation ($id: ID!, $title: String!) { updatePost(id: $id, title: $title) { id } }';
  const editOne =
    'mutation ($id: ID!, $title: String!) { updatePost(id: $id, title: $title, ifVersion: 1) { id } }';
  const comment = 'mutation ($id: ID!) { createComment(postId: $id, body: "b") { id } }';
  const editComment = 'mutation ($id: ID!, $title: String!) { updateComment(id: $id, body: $title) { id } }';
  const deleteComment = 'mutation ($id: ID!) { deleteComment(id: $id) }';
  const several = `mutation ($id: ID!, $title: String!) {
    a: createComment(postId: $id, body: "b") { id } b: updatePost(id: $id, title: $title) { id } }`;

  let post = { id: await newPost(), comments: [] as string[] };
  async function client(instance: (typeof instances)[number]): Promise<void> {
    while (goesOn()) {
      const current = post;
      const { id, comments } = current;
      const title = `t${count}`;
      const choice = percent();
      const known = comments.length === 0 ? undefined : random.pick(comments);
      if (choice < 2) {
        post = { id: await newPost(), comments: [] };
        await run(instance, 'mutation ($id: ID!) { deletePost(id: $id) }', { id });
      } else if (choice < 40) await run(instance, choice < 30 ? edit : editOne, { id, title });
      else if (choice < 50) await run(instance, several, { id, title });
      else if (choice < 70 || known === undefined) {
        const created = (await run(instance, comment, { id })).data?.createComment;
        if (typeof created === 'object') comments.push(created.id);
      } else if (choice < 90) await run(instance, editComment, { id: known, title });
      else await run(instance, deleteComment, { id: known });
    }
  }
  await Promise.all(
    Array.from({ length: CLIENTS }, (_, at) => client(instances[at % instances.length] ?? app)),
  );
  const { rows } = await database.query<{ disordered: number; events: number }>(DISORDERED);
  expect(rows).toEqual([{ disordered: 0, events: expect.any(Number) }]);
  expect(rows[0]?.events).toBeGreaterThan(CHANGES / 3);
});
