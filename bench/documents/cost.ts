import type { Database } from '../../src/platform/db/database.ts';
import { statement } from '../../src/platform/db/statement.ts';
import { Connection } from '../harness/connection.ts';
import type { ServerProcess } from '../harness/server-process.ts';

/** What a request costs. */
export interface Cost {
  readonly cpuMs: number;
  readonly statements: number;
}

export const CONNECTIONS = 32;

/** Sends each request once. */
export async function sendAll(
  port: number,
  requests: readonly Buffer[],
  connections = CONNECTIONS,
): Promise<void> {
  let next = 0;
  const one = async () => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const connection = await Connection.open(port, reject);
    const send = () => {
      const request = requests[next++];
      if (request === undefined) return resolve();
      connection.send(request, (status, body) => {
        if (status === 200 && !body.includes('"errors"')) send();
        else reject(new Error(`answered with ${status}: ${body.toString('utf8', 0, 500)}`));
      });
    };
    send();
    await promise.finally(() => connection.close());
  };
  await Promise.all(Array.from({ length: connections }, one));
}

/** What each of some requests costs the service. */
export async function costOf(server: ServerProcess, requests: readonly Buffer[]): Promise<Cost> {
  const before = await server.usage();
  await sendAll(server.port, requests);
  const after = await server.usage();
  return {
    cpuMs: (after.cpuMs - before.cpuMs) / requests.length,
    statements: (after.statements - before.statements) / requests.length,
  };
}

const LOOK_UP = statement('bench_look_up', 'SELECT id, text FROM trusted_documents WHERE id = $1');

/** What a row by its primary key costs in this process, with the pool of the service. */
export async function costOfLookUp(database: Database, ids: readonly string[]): Promise<number> {
  let next = 0;
  const before = process.cpuUsage();
  const one = async () => {
    for (let id = ids[next++]; id !== undefined; id = ids[next++]) await database.query(LOOK_UP, [id]);
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, one));
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000 / ids.length;
}
