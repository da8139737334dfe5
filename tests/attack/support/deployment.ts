import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';
import { freePorts, run, start, until } from '../../../scripts/cluster/processes.ts';
import { createAccount } from '../../../src/auth/accounts.ts';
import { createApiKey } from '../../../src/auth/api-keys.ts';
import { scopesOfRole } from '../../../src/auth/scopes.ts';
import { openDatabase } from '../../../src/database/database.ts';
import { createOAuthClient } from '../../../src/features/oauth/clients.ts';
import { loadConfig } from '../../../src/platform/config/config.ts';
import { createLogger } from '../../../src/platform/log/log.ts';
import type { TestClient } from '../../support/credentials/oauth.ts';
import { createEmptyDatabase } from '../../support/database/empty-database.ts';
import { pgbouncer } from '../../support/database/pgbouncer.ts';
import { HOST_ARGUMENTS } from '../../support/reading-plugin.ts';
import { AMPLE_TIMEOUTS, UNTHROTTLED } from '../../support/settings.ts';
import { makeCertificate, NAMES, startNginx } from './front.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
/** Only ends a start that hangs. */
const LIMIT_MS = 300_000;
export const METRICS_TOKEN = 'a-token-of-24-characters';
export const PASSWORD = 'a password of the attack run';

export interface Person {
  readonly id: string;
  readonly email: string;
  readonly key: string;
}

/** The service as it is in use, and those who have accounts there. */
export interface Deployment {
  /** nginx with TLS, and the certificate to trust. PUBLIC_URL. Its name is for browsers: it resolves nowhere else. */
  readonly origin: string;
  readonly certificate: string;
  /** Of the certificate. */
  readonly key: string;
  /** nginx without TLS, which says so. */
  readonly plainOrigin: string;
  /** nginx with TLS before an instance that was not told of it by TRUST_PROXY. */
  readonly forgetfulOrigin: string;
  /** Where the sites of others are, whoever starts them. */
  readonly sitesPort: number;
  /** A line for each request that nginx has answered. */
  readonly accessLog: string;
  /** The database itself. */
  readonly databaseUrl: string;
  /** The instance itself. */
  readonly port: number;
  /** An instance that soon gives up a request that never ends, and nginx with TLS before it that does, too. */
  readonly hasty: { readonly port: number; readonly tlsPort: number };
  readonly ada: Person;
  readonly grace: Person;
  readonly admin: Person;
  /** A web application that has its users sign in at the service. */
  readonly reader: TestClient;
}

declare module 'vitest' {
  interface ProvidedContext {
    readonly deployment: Deployment;
  }
}

/** Accounts and clients, as the admin command makes them. */
async function populate(settings: Record<string, string>, applicationUri: string) {
  const config = loadConfig(settings);
  const log = createLogger({ level: 'silent', pretty: false });
  const database = await openDatabase({ config, log });
  const person = async (name: string, role: 'member' | 'admin' = 'member'): Promise<Person> => {
    const email = `${name.toLowerCase()}@example.com`;
    const { id } = await createAccount(database, { name, email, password: PASSWORD, role });
    const { key } = await createApiKey(database, { userId: id, name: 'attack', scopes: scopesOfRole(role) });
    return { id, email, key };
  };
  try {
    const [ada, grace, admin] = [await person('Ada'), await person('Grace'), await person('Root', 'admin')];
    const reader = await createOAuthClient(database, {
      owner: { id: ada.id, role: 'member' },
      name: 'Reading List',
      grants: ['authorization_code', 'refresh_token'],
      scopes: scopesOfRole('member'),
      redirectUris: [applicationUri],
      public: false,
    });
    return {
      ada,
      grace,
      admin,
      reader: { id: reader.client_id, secret: reader.client_secret ?? '' },
    };
  } finally {
    await database.close();
  }
}

async function deploy(folder: string, keep: (end: () => Promise<unknown>) => void): Promise<Deployment> {
  const signal = AbortSignal.timeout(LIMIT_MS);
  const database = await createEmptyDatabase('attack');
  keep(() => database.drop());
  const pooled = await pgbouncer(database.url, keep);
  const [
    app = 0,
    forgetful = 0,
    tls = 0,
    plain = 0,
    forgetfulTls = 0,
    hasty = 0,
    hastyTls = 0,
    sitesPort = 0,
  ] = await freePorts(8);
  const origin = `https://${NAMES.service}:${tls}`;
  const applicationOrigin = `https://${NAMES.application}:${sitesPort}`;
  const settings = {
    NODE_ENV: 'production',
    DATABASE_URL: pooled,
    DIRECT_DATABASE_URL: database.url,
    DATA_DIR: join(folder, 'data'),
    SECRET_KEY: randomBytes(48).toString('base64'),
    PUBLIC_URL: origin,
    CORS_ORIGINS: `https://app.example.com,${applicationOrigin}`,
    METRICS_TOKEN,
    // Other tests are about limits and timeouts.
    ...UNTHROTTLED,
    ...AMPLE_TIMEOUTS,
    SHUTDOWN_DELAY_SECONDS: '0',
    LOG_LEVEL: 'warn',
  };
  const script = (file: string, ...args: string[]) => [join(ROOT, file), ...args];
  await run({
    file: process.execPath,
    args: script('src/admin/main.ts', 'database', 'migrate'),
    cwd: folder,
    env: settings,
  });
  const people = await populate(settings, `${applicationOrigin}/callback`);

  const serve = async (port: number, more: Record<string, string>) => {
    const env = { ...settings, ...more, PORT: String(port) };
    const service = start({
      file: process.execPath,
      args: [...HOST_ARGUMENTS, ...script('src/main.ts')],
      cwd: folder,
      env,
    });
    keep(() => service.stop());
    const ready = async () => (await fetch(`http://127.0.0.1:${port}/health/ready`)).ok;
    await until('the service', ready, { service, signal });
  };
  await Promise.all([
    serve(app, { TRUST_PROXY: '127.0.0.1' }),
    serve(forgetful, {}),
    serve(hasty, { TRUST_PROXY: '127.0.0.1', REQUEST_TIMEOUT_MS: '3000' }),
  ]);

  const { certificate, key } = await makeCertificate(folder);
  const ports = { app, forgetful, tls, plain, forgetfulTls, hasty, hastyTls };
  const nginx = await startNginx(folder, ports);
  keep(() => nginx.stop());
  const plainOrigin = `http://127.0.0.1:${plain}`;
  await until('nginx', async () => (await fetch(`${plainOrigin}/health/live`)).ok, {
    service: nginx,
    signal,
  });
  return {
    origin,
    certificate,
    key,
    plainOrigin,
    forgetfulOrigin: `https://${NAMES.service}:${forgetfulTls}`,
    sitesPort,
    accessLog: join(folder, 'access.log'),
    databaseUrl: database.url,
    port: app,
    hasty: { port: hasty, tlsPort: hastyTls },
    ...people,
  };
}

/** Starts it all before the first attack; what is returned takes it down again. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const ends: (() => Promise<unknown>)[] = [];
  const folder = await mkdtemp(join(tmpdir(), 'content-graph-attack-'));
  const teardown = async () => {
    for (const end of ends.reverse()) await end();
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    project.provide('deployment', await deploy(folder, (end) => void ends.push(end)));
  } catch (error) {
    await teardown();
    throw error;
  }
  return teardown;
}
