import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { type App, createApp } from '../../../src/app/create-app.ts';
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

/** Has a service listen on a free port, over the data of a world. */
async function listen(app: TestApp, service: App, world: World): Promise<Stage> {
  const server = createNodeServer(nodeServerOptions(service, app.config, log));
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

/** Fills a service with data and has it listen. Closing leaves the service itself open. */
export async function openStage(app: TestApp): Promise<Stage> {
  return listen(app, app.app, await createWorld(app));
}

/** Lets a new service work on the data of a stage: one that has kept nothing of what was asked before. */
export async function withNewService<T>(
  { app, world }: Stage,
  work: (stage: Stage) => Promise<T>,
): Promise<T> {
  const { config, database } = app;
  const service = createApp({ config, database, log });
  const stage = await listen(app, service, world);
  try {
    return await work(stage);
  } finally {
    await stage.close();
    await service.close();
  }
}
