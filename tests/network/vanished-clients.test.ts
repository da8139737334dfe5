import { spawn } from 'node:child_process';
import { describe, expect, it, onTestFinished } from 'vitest';
import { graphqlPost } from '../support/graphql.ts';
import { type Namespace, namespace } from '../support/processes/namespace.ts';
import { temporaryFolder, until } from '../support/processes/process.ts';
import { demoKey, startServer } from '../support/processes/server.ts';

const METRICS_TOKEN = 'a-token-of-24-characters';

/** A service that is reached from everywhere, and the key of its first account. */
async function start(settings: Readonly<Record<string, string>> = {}) {
  const folder = await temporaryFolder();
  const server = await startServer(folder, { HOST: '0.0.0.0', METRICS_TOKEN, ...settings });
  const port = new URL(server.origin).port;
  const local = `http://127.0.0.1:${port}`;
  const key = await demoKey(folder);
  const post = async (title: string) => {
    const response = await fetch(
      `${local}/graphql`,
      graphqlPost(`mutation { createPost(title: "${title}", body: "b") { id } }`, { key }),
    );
    expect(response.status).toBe(200);
  };
  const openStreams = async () => {
    const text = await (await fetch(`${local}/metrics`)).text();
    return Number(/^content_graph_event_streams_open (\d+)$/m.exec(text)?.[1]);
  };
  return { server, port, local, key, post, openStreams };
}

const SUBSCRIPTION = JSON.stringify({ query: 'subscription { postCreated { title } }' });

/** A client on the other side of a cable: what it has received so far. */
function subscribeFrom(side: Namespace, port: string, key: string): { text: string } {
  const [program, ...args] = side.inside(
    'curl',
    '-sN',
    '--no-progress-meter',
    `http://${side.hostAddress}:${port}/graphql`,
    '-H',
    `Authorization: Bearer ${key}`,
    '-H',
    'Content-Type: application/json',
    '-H',
    'Accept: text/event-stream',
    '-d',
    SUBSCRIPTION,
  );
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const received = { text: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    received.text += text;
  });
  return received;
}

const opened = (stream: { text: string }) => until('an open stream', () => stream.text.includes('\nid: '));

describe('a client that vanishes without a word', () => {
  it('has its stream ended within 60 seconds, and one beside it goes on', async () => {
    const { port, key, post, openStreams } = await start();
    const [dead, alive] = [namespace(), namespace()];
    const streams = [subscribeFrom(dead, port, key), subscribeFrom(alive, port, key)];
    for (const stream of streams) await opened(stream);
    expect(await openStreams()).toBe(2);
    dead.cut();
    const cutAtMs = performance.now();
    await until('the dead stream to end', async () => (await openStreams()) === 1);
    // The contract promises 60 seconds; this process and the service may wait for a core.
    expect(performance.now() - cutAtMs).toBeLessThan(75_000);
    await post('after all');
    await until('the event at the other client', () => streams[1]?.text.includes('after all'));
    expect(await openStreams()).toBe(1);
    expect(streams[0]?.text).not.toContain('after all');
  });

  it('is not rejected when it comes back while its dead streams fill its number', async () => {
    const { server, port, local, key, post } = await start({ MAX_STREAMS_PER_CLIENT: '2' });
    const side = namespace();
    for (const stream of [subscribeFrom(side, port, key), subscribeFrom(side, port, key)])
      await opened(stream);
    const come = async () => {
      const leaving = new AbortController();
      onTestFinished(() => leaving.abort());
      const headers = {
        accept: 'text/event-stream',
        'content-type': 'application/json',
        authorization: `Bearer ${key}`,
      };
      const response = await fetch(`${local}/graphql`, {
        method: 'POST',
        headers,
        body: SUBSCRIPTION,
        signal: leaving.signal,
      });
      return response.status;
    };
    expect(await come()).toBe(429);
    side.cut();
    await post('unanswered');
    await until('a stream in place of a dead one', async () => (await come()) === 200);
    expect(server.stdout).toContain('"needed"');
  });
});
