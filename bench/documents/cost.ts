import type { Database } from '../../src/platform/db/database.ts';
import { statement } from '../../src/platform/db/statement.ts';
import { Connection } from '../harness/connection.ts';
import type { ServerProcess } from '../harness/server-process.ts';

const CONNECTIONS = 32;

/** Sends each request once. Rejects where anything but data comes back. */
export async function sendAll(port: number, requests: readonly Buffer[]): Promise<void> {
  const left = requests.values();
  const one = async () => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const connection = await Connection.open(port, reject);
    const send = () => {
      const { value: request } = left.next();
      if (request === undefined) return resolve();
      connection.send(request, (status, body) => {
        if (status === 200 && !body.includes('"errors"')) send();
        else reject(new Error(`answered with ${status}: ${body.toString('utf8', 0, 500)}`));
      });
    };
    send();
    await promise.finally(() => connection.close());
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, one));
}

/** CPU of the service, in ms, and its statements, for some requests. */
export async function costOf({ port, usage }: ServerProcess, requests: readonly Buffer[]) {
  const before = await usage();
  await sendAll(port, requests);
  const after = await usage();
  return { cpuMs: after.cpuMs - before.cpuMs, statements: after.statements - before.statements };
}

const LOOK_UP = statement('bench_look_up', 'SELECT id, text FROM trusted_documents WHERE id = $1');

/** CPU of this process, in ms, for rows by their primary keys, with the pool of the service. */
export async function costOfLookUps(database: Database, ids: readonly string[]): Promise<number> {
  const left = ids.values();
  const before = process.cpuUsage();
  const one = async () => {
    for (const id of left) await database.query(LOOK_UP, [id]);
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, one));
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
