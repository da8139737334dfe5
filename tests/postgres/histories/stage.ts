import pg from 'pg';
import { expect, onTestFinished } from 'vitest';
import { openDatabase } from '../../../src/database/database.ts';
import { migrate } from '../../../src/database/migrate.ts';
import { loadConfig } from '../../../src/platform/config/config.ts';
import { newId } from '../../../src/platform/ids.ts';
import { createLogger } from '../../../src/platform/log/log.ts';
import { startApp, type TestApp } from '../../support/app.ts';
import { createPost } from '../../support/content.ts';
import { createDrawnDatabase } from '../../support/database/drawn-world.ts';
import { switchedProxy } from '../../support/database/switched-proxy.ts';
import { type OwnPostgres, startOwnPostgres } from '../../support/processes/own-postgres.ts';
import { temporaryFolder } from '../../support/processes/process.ts';
import { LAST, Listeners, type Scene } from '../../support/streams/listeners.ts';

/** How long a test of this folder may take. */

const NAME = 'content';

/** Processes are killed, machines are not. */
const UNSAFE = { fsync: 'off', full_page_writes: 'off' };

/** The database of a server that the service uses. */
export const contentOf = (server: string, name = NAME): string =>
  Object.assign(new URL(server), { pathname: name }).href;

/** A service on a database of a server of its own, which can be killed, copied and replaced. */
export interface Stage extends Scene {
  /** The server that the service uses. */
  server: OwnPostgres;
  app: TestApp;
  readonly author: { readonly id: string; readonly key: string };
  readonly acknowledged: string[];
  post(titles: readonly string[]): Promise<void>;
  /** Tries until a post is created, as clients do while a server is away. */
  postOnceUp(): Promise<void>;
  /** A transaction of another program that has created a post and stays open. */
  openTransaction(title: string): Promise<pg.Client>;
  /** Has the service use another server, as an address does that moves. */
  moveTo(server: OwnPostgres): void;
  /** Ends the service, and starts it again after something, on another database if so said. */
  restartApp(meanwhile: () => Promise<void>, database?: string): Promise<void>;
}

/** Titles that tell when their posts were made. */
export const titles = (when: string, count: number): string[] =>
  Array.from({ length: count }, (_, n) => `${when} ${n}`);

/** A connection of another program, for as long as the test runs. */
export async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  // Its server may be killed.
  client.on('error', () => undefined);
  await client.connect();
  onTestFinished(() => client.end().catch(() => undefined));
  return client;
}

async function migrated(url: string): Promise<void> {
  const log = createLogger({ level: 'error', pretty: false });
  const database = await openDatabase({
    config: loadConfig({ NODE_ENV: 'test', DATABASE_URL: url }),
    log,
  });
  await migrate(database).finally(() => database.close());
}

/** A server with an empty database. `label` says which draw of settings it has. */
export async function openServer(
  label: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<OwnPostgres> {
  const server = await startOwnPostgres({ settings: { ...UNSAFE, ...settings } });
  const maintenance = await connect(server.url);
  await createDrawnDatabase(maintenance, NAME, label);
  await maintenance.end();
  return server;
}

/** `label` says which draw of settings the database has. */
export async function openStage(
  label: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<Stage> {
  const server = await openServer(label, settings);
  await migrated(contentOf(server.url));
  const proxy = await switchedProxy(contentOf(server.url));
  await proxy.on();
  const DATA_DIR = await temporaryFolder();
  const start = (database = NAME) =>
    startApp(
      { settings: { DATABASE_URL: contentOf(proxy.url, database), DATA_DIR }, drop: async () => undefined },
      { settings: { MAX_STREAMS_PER_CLIENT: '1000' } },
    );
  let running = await start();
  onTestFinished(() => running.stop());
  const author = await running.account();
  let tries = 0;
  const stage: Stage = {
    server,
    app: running,
    author,
    acknowledged: [],
    async post(all) {
      for (const title of all) {
        await createPost(stage.app, author.key, { title });
        stage.acknowledged.push(title);
      }
    },
    async postOnceUp() {
      const posted = async () => {
        tries += 1;
        return stage.post([`try ${tries}`]).then(
          () => true,
          () => false,
        );
      };
      await expect.poll(posted).toBe(true);
    },
    async openTransaction(title) {
      const client = await connect(contentOf(stage.server.url));
      await client.query('SET search_path = public; BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE');
      const id = newId();
      const post = [id, title, 'b', author.id];
      await client.query('INSERT INTO posts (id, title, body, author_id) VALUES ($1, $2, $3, $4)', post);
      await client.query("INSERT INTO events (kind, root_id) VALUES ('POST_CREATED', $1)", [id]);
      return client;
    },
    moveTo(other) {
      stage.server = other;
      proxy.aim(other.url);
    },
    async restartApp(meanwhile, database) {
      await running.stop();
      await meanwhile();
      running = await start(database);
      stage.app = running;
    },
  };
  return stage;
}

/**
 * Fifty listeners of every age: before any event, between events, and while a transaction is open that is committed, or
 * rolled back, later. All have left when it ends, but for one of each time.
 */
export async function listen(stage: Stage, end: 'COMMIT' | 'ROLLBACK' = 'COMMIT'): Promise<Listeners> {
  const listeners = new Listeners(stage);
  await listeners.come(10);
  await stage.post(titles('early', 6));
  await listeners.come(15);
  const transaction = await stage.openTransaction('slow');
  await stage.post(titles('meanwhile', 4));
  await listeners.come(15);
  await stage.post(titles('later', 4));
  await listeners.come(5);
  await transaction.query(end);
  if (end === 'COMMIT') stage.acknowledged.push('slow');
  await stage.post(titles('afterwards', 4));
  await listeners.come(5);
  await listeners.have('afterwards 3');
  await listeners.leave();
  expect(listeners.count).toBe(50);
  return listeners;
}

/** Some more posts, the last of which ends what a listener waits for. */
export const goOn = (stage: Stage, count = 3): Promise<void> => stage.post([...titles('new', count), LAST]);
