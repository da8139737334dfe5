import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { migratedFolder } from '../support/processes/migrated-folder.ts';
import { runScript, until } from '../support/processes/process.ts';
import { demoKey, type ServerProcess, startServer } from '../support/processes/server.ts';

/** A subscription's stream as text, while it comes in. */
interface Stream {
  readonly text: string;
  readonly ended: Promise<void>;
}

async function subscribe(server: ServerProcess, key: string, accept = 'text/event-stream'): Promise<Stream> {
  const query = encodeURIComponent('subscription { postCreated { title } }');
  const response = await fetch(`${server.origin}/graphql?query=${query}`, {
    headers: { accept, authorization: `Bearer ${key}` },
  });
  expect(response.status).toBe(200);
  const stream = { text: '', ended: Promise.resolve() };
  const read = async () => {
    const decoder = new TextDecoder();
    for await (const part of response.body ?? []) stream.text += decoder.decode(part, { stream: true });
  };
  stream.ended = read();
  await until('the opening of the stream', () => stream.text !== '');
  return stream;
}

const readiness = async ({ origin }: ServerProcess) => (await fetch(`${origin}/health/ready`)).status;

describe('SIGTERM', () => {
  // As the first process of a container, it would not notice a signal without a handler.
  it.each([
    ['the service', 'src/main.ts', []],
    ['the admin command', 'src/admin/main.ts', ['database', 'migrate']],
  ])('ends %s by itself while it waits for a response of PostgreSQL', async (_what, script, args) => {
    const silent = createServer().listen(0, '127.0.0.1');
    await once(silent, 'listening');
    onTestFinished(() => void silent.close());
    const { port } = silent.address() as AddressInfo;
    const starting = runScript(script, args, { DATABASE_URL: `postgres://ann@127.0.0.1:${port}/content` });
    const [socket] = await once(silent, 'connection');
    onTestFinished(() => void socket.destroy());
    starting.kill('SIGTERM');
    expect(await starting.exited).toMatchObject({ code: 143, signal: null });
  });

  it('turns readiness off, serves on for SHUTDOWN_DELAY_SECONDS, ends streams without complete, and exits 0', async () => {
    const dataDir = await migratedFolder();
    // More than everything before the end of the streams takes.
    const server = await startServer(dataDir, { SHUTDOWN_DELAY_SECONDS: '40' });
    const key = await demoKey(dataDir);
    const stream = await subscribe(server, key);
    const multipart = await subscribe(server, key, 'multipart/mixed;subscriptionSpec=1.0');
    expect(await readiness(server)).toBe(200);

    server.kill('SIGTERM');
    await until('readiness to end', async () => (await readiness(server)) === 503);
    expect((await fetch(`${server.origin}/health/live`)).status).toBe(200);
    const late = await subscribe(server, key);
    const created = await server.gql('mutation { createPost(title: "late", body: "b") { title } }', { key });
    expect(created.data).toEqual({ createPost: { title: 'late' } });
    for (const open of [stream, multipart, late])
      await until('the event', () => open.text.includes('"late"'));

    await Promise.all([stream.ended, multipart.ended, late.ended]);
    for (const { text } of [stream, late]) {
      expect(text).toMatch(/event: next\n(id: .+\n)?data: {"data":{"postCreated":{"title":"late"}}}\n\n/);
      expect(text).not.toContain('event: complete');
      expect(text).toMatch(/retry: \d+\n\n$/);
    }
    expect(multipart.text).toMatch(/{"payload":{"data":{"postCreated":{"title":"late"}},.+}\r\n--graphql/);
    expect(multipart.text).not.toContain('--graphql--');
    expect(await server.exited).toMatchObject({ code: 0, signal: null });
  });

  it('waits for no client that keeps the connection of its stream alive', async () => {
    const dataDir = await migratedFolder();
    const server = await startServer(dataDir);
    const stream = await subscribe(server, await demoKey(dataDir));
    server.kill('SIGTERM');
    await stream.ended;
    const { stdout, ...exit } = await server.exited;
    expect(exit).toMatchObject({ code: 0, signal: null });
    // Running requests get ten seconds; there are none. By the server's own clock: this one may have stood still.
    const secondsAt = (what: string) => {
      const [, hours, minutes, seconds] =
        new RegExp(`(\\d\\d):(\\d\\d):(\\d\\d).*\\[service\\.${what}\\]`).exec(stdout) ?? [];
      return Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds);
    };
    const tookSeconds = (secondsAt('stopped') - secondsAt('stopping') + 86_400) % 86_400;
    expect(tookSeconds).toBeLessThan(10);
  });

  it('exits 0 at once in development, and leaves the folder free', async () => {
    const dataDir = await migratedFolder();
    const server = await startServer(dataDir);
    server.kill('SIGTERM');
    expect(await server.exited).toMatchObject({ code: 0, signal: null });
    await startServer(dataDir);
  });
});
