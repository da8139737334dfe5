import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { nodeServerOptions } from '../../../src/app/server.ts';
import { createNodeServer } from '../../../src/http/server/node-server.ts';
import { createLogger } from '../../../src/platform/log/log.ts';
import type { TestApp } from '../../support/app.ts';
import { createWorld, type World } from '../world.ts';
import { type Client, createClient } from './client.ts';

/** A service that listens as it does in production, with data of its own. */
export interface Stage {
  readonly app: TestApp;
  readonly world: World;
  readonly origin: string;
  readonly client: Client;
  close(): Promise<void>;
}

/** Settings that keep limits of time and number out of the way of those of an operation. */
export const STAGE_SETTINGS = { MAX_STREAMS_PER_CLIENT: '10000' } as const;

const log = createLogger({ level: 'silent', pretty: false });

/** Fills a service with data and has it listen. Closing leaves the service itself open. */
export async function openStage(app: TestApp): Promise<Stage> {
  const world = await createWorld(app);
  const server = createNodeServer(nodeServerOptions(app.app, app.config, log));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = createClient(origin);
  return {
    app,
    world,
    origin,
    client,
    async close() {
      client.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
