/**
 * 250 accounts open as many different subscriptions as they may, 10,000 in all, with the largest texts and with short
 * ones, beside an ordinary client. The service has 1 GiB, as in a container, and the heap that V8 chooses there.
 */
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { type Accounts, makeAccounts } from './adversary/accounts.ts';
import { type Noticed, ordinaryClient } from './adversary/ordinary.ts';
import { ALLOCATOR } from './adversary/service.ts';
import { PRODUCT, startContestant } from './contestants.ts';
import { openWorkspace, type Workspace } from './data/workspace.ts';
import { withCleanup } from './harness/cleanup.ts';
import { postRequest } from './harness/connection.ts';
import { inControlGroup } from './harness/control-group.ts';
import type { ServerProcess } from './harness/server-process.ts';
import { figure, megabytes, table } from './report/markdown.ts';
import { progress, publish } from './report/results.ts';

const quick = process.argv.includes('--quick');
const ACCOUNTS = quick ? 25 : 250;
const STREAMS = 40;
const AT_ONCE = 100;
const WATCHED_MS = quick ? 5_000 : 20_000;
const CONTAINER_BYTES = 1024 ** 3;

const fields = (count: number, part: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => part(index)).join(' ');

/** What differs is a number of each: an offset far in a list, or names where that would cost too much. */
const TEXTS: Readonly<Record<string, (index: number) => string>> = {
  'as long as a body may be': (index) =>
    `subscription { postCreated { id comments(limit: 1, offset: ${index % 10_000}) { id } } } #${'x'.repeat(255_000)}`,
  'as dear as an operation may be': (index) =>
    `subscription { postCreated { ${fields(29, (alias) => `a${index}_${alias}: comments(limit: 1, offset: ${alias}) { id body author { name } }`)} } }`,
  short: (index) =>
    `subscription { postCreated { id comments(limit: 1, offset: ${index % 10_000}) { id body } } }`,
};

/** The statuses of the responses, by how many there were, once all have come. */
async function openAll(
  port: number,
  keys: readonly string[],
  text: (index: number) => string,
): Promise<{ statuses: Record<string, number>; sockets: Socket[] }> {
  const statuses: Record<string, number> = {};
  const sockets: Socket[] = [];
  let next = 0;
  const open = (index: number) =>
    new Promise<void>((resolve) => {
      const key = keys[index % keys.length] ?? '';
      const request = postRequest(
        '/graphql',
        { query: text(index) },
        { authorization: `Bearer ${key}`, accept: 'text/event-stream' },
      );
      const socket = connect(port, '127.0.0.1', () => socket.write(request));
      sockets.push(socket);
      let told = false;
      const tell = (status: string) => {
        if (told) return;
        told = true;
        statuses[status] = (statuses[status] ?? 0) + 1;
        resolve();
      };
      socket.on('data', (part) => tell(part.toString('latin1', 9, 12)));
      socket.on('error', ({ message }) => tell(message));
      socket.on('close', () => tell('closed'));
    });
  const one = async () => {
    while (next < keys.length * STREAMS) await open(next++);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
  return { statuses, sockets };
}

interface Row {
  readonly name: string;
  readonly statuses: Record<string, number>;
  readonly noticed: Noticed;
  readonly heldBytes: number;
}

async function measure(
  server: ServerProcess,
  workspace: Workspace,
  { ordinary }: Accounts,
  name: string,
  text: (index: number) => string,
): Promise<Row> {
  const watching = ordinaryClient(server, ordinary, WATCHED_MS);
  const { statuses, sockets } = await openAll(server.port, workspace.keys.slice(0, ACCOUNTS), text);
  const { heapBytes } = await server.memory();
  const noticed = await watching;
  for (const socket of sockets) socket.destroy();
  await delay(1_000);
  progress(`${name}: ${JSON.stringify(statuses)}, ${megabytes(heapBytes)}`);
  return { name, statuses, noticed, heldBytes: heapBytes };
}

await withCleanup(async (cleanup) => {
  const size = { users: 2_000, posts: 20_000 };
  const workspace = await openWorkspace(cleanup, { size, keys: ACCOUNTS, limited: true });
  const accounts = await makeAccounts({ DATABASE_URL: workspace.urlFor('accounts') });
  const rows: Row[] = [];
  for (const [name, text] of Object.entries(TEXTS)) {
    // One stream more than its groups: rejections by the limit of streams would hide the others.
    const settings = {
      ...ALLOCATOR,
      MAX_STREAMS_PER_CLIENT: String(STREAMS + 1),
      RATE_LIMIT_BURST: '100',
      RATE_LIMIT_PER_SECOND: '20',
    };
    const nodeArgs = ['--expose-gc'];
    const { server } = await inControlGroup(cleanup, CONTAINER_BYTES, () =>
      startContestant(cleanup, workspace, PRODUCT, { settings, nodeArgs }),
    );
    rows.push(await measure(server, workspace, accounts, name, text));
    await server.stop();
  }
  const shown = rows.map(({ name, statuses, noticed, heldBytes }) => [
    name,
    Object.entries(statuses)
      .map(([status, count]) => `${count} × ${status}`)
      .join(', '),
    megabytes(heldBytes),
    megabytes(noticed.peakBytes),
    ...[noticed.read, noticed.write, noticed.event, noticed.live].map(figure),
    Object.entries(noticed.rejected)
      .map(([what, count]) => `${what}: ${count}`)
      .join(', ') || 'none',
  ]);
  const header = ['texts', 'answers', 'heap', 'memory', 'read', 'write', 'event', 'live', 'refused'];
  const about = `${ACCOUNTS} accounts open ${STREAMS} different subscriptions each, from a service in a control group of 1 GiB, with the heap that V8 chooses there. The heap while they are open, after a collection, and the resident memory at its peak; 99th percentiles in ms and refusals of an ordinary client of another account meanwhile.`;
  publish('Groups of subscribers', [about, table(header, shown)].join('\n\n'), quick);
});
