import type { GraphQLSchema } from 'graphql';
import { expect } from 'vitest';
import { createLogger } from '../../src/platform/log/log.ts';
import { createTestApp, ORIGIN, type TestApp } from './app.ts';
import { askMembers, type Members } from './trusted-documents.ts';

/** Sends a GraphQL request, with a key or other headers. Resolves to its status. */
export type Ask = (members: Members, key?: string, headers?: Record<string, string>) => Promise<number>;

/** Does something with an instance of another schema, which has stored what it counted when this resolves. */
export async function withInstance(
  { config, database }: Pick<TestApp, 'config' | 'database'>,
  schema: GraphQLSchema,
  work: (ask: Ask) => Promise<unknown>,
): Promise<void> {
  const log = createLogger({ level: 'error', pretty: false });
  const instance = createTestApp({ config, database, log, schema });
  const fetch = (path: string, init?: RequestInit) =>
    instance.fetch(new Request(new URL(path, ORIGIN), init));
  try {
    await work(async (members, key, headers = {}) => {
      const given = key === undefined ? { headers } : { key, headers };
      return (await askMembers({ fetch }, members, given)).status;
    });
  } finally {
    await instance.close();
    // Closing waits for 5 seconds only.
    await expect.poll(() => database.queue.activeCount + database.queue.waitingCount).toBe(0);
  }
}
