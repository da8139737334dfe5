/**
 * A program that writes posts and follows all posts, for a test that stops its process. It takes the URL of the service and
 * a key, and prints the states of its stream and the titles that arrive.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { createClient } from '../../../packages/client/src/index.ts';

const CREATE_POST = 'mutation ($title: String!) { createPost(title: $title, body: "b") { id } }';
const POST_CREATED = 'subscription { postCreated { title } }';
/** Short, so that the test need not stop the process for long. */
const LIMIT_MS = 3_000;
const POSTS = 30;

const [url = '', key = ''] = process.argv.slice(2);
const client = createClient({
  url,
  headers: { authorization: `Bearer ${key}` },
  retry: { attemptTimeoutMs: LIMIT_MS },
});
const print = (line: string) => process.stdout.write(`${line}\n`);

async function write(): Promise<void> {
  for (let post = 1; post <= POSTS; post += 1) {
    await client.mutate(CREATE_POST, { title: `Written ${post}` });
    await delay(LIMIT_MS / POSTS);
  }
  print('All are written.');
}

const stream = client.subscribe<{ postCreated: { title: string } }, object>(
  POST_CREATED,
  {},
  {
    silenceMs: LIMIT_MS,
    onState: (state) => {
      print(`${state.status} ${state.status === 'live' ? state.since : ''}`);
      if (state.status === 'live' && state.since === 'opened') void write();
    },
  },
);
for await (const event of stream)
  print(event.type === 'data' ? `Title: ${event.data.postCreated.title}` : event.type);
