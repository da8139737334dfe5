import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';
import { freePorts, run, type Service, start, until } from '../../../scripts/cluster/processes.ts';
import { findNginx } from '../../../scripts/cluster/programs.ts';
import { createAccount } from '../../../src/auth/account/store.ts';
import { createApiKey } from '../../../src/auth/api-key/store.ts';
import { scopesOfRole } from '../../../src/auth/scopes.ts';
import { createOAuthClient } from '../../../src/oauth/records/clients.ts';
import { loadConfig } from '../../../src/platform/config.ts';
import { openDatabase } from '../../../src/platform/db/database.ts';
import { createLogger } from '../../../src/platform/log.ts';
import { REDIRECT_URI, type TestClient } from '../../support/credentials/oauth.ts';
import { AUDIENCE, ISSUER, JWT_SECRET } from '../../support/credentials/tokens.ts';
import { createEmptyDatabase } from '../../support/database/empty-database.ts';
import { pgbouncer } from '../../support/database/pgbouncer.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const LIMIT_MS = 120_000;
export const METRICS_TOKEN = 'a-token-of-24-characters';
export const PASSWORD = 'a password of the attack run';

export interface Person {
  readonly id: string;
  readonly email: string;
  readonly key: string;
}

/** The service as it is in use, and those who have accounts there. */
export interface Deployment {
  /** nginx with TLS, and the certificate to trust. PUBLIC_URL. */
  readonly origin: string;
  readonly certificate: string;
  /** nginx without TLS, which says so. */
  readonly plainOrigin: string;
  /** nginx with TLS before an instance that was not told of it by TRUST_PROXY. */
  readonly forgetfulOrigin: string;
  /** The instance itself. */
  readonly port: number;
  /** What JWT_PUBLIC_KEY has, and what signs for it. */
  readonly rsa: { readonly publicKey: string; readonly privateKey: string };
  readonly ada: Person;
  readonly grace: Person;
  readonly admin: Person;
  /** For users. */
  readonly client: TestClient;
  readonly otherClient: TestClient;
  /** For itself, as Ada. */
  readonly machine: TestClient;
}

declare module 'vitest' {
  interface ProvidedContext {
    readonly deployment: Deployment;
  }
}

const proxied = (port: number) => `location / {
      proxy_pass http://127.0.0.1:${port};
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host $http_host;
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
      proxy_set_header X-Forwarded-Proto $scheme;
    }`;

interface Ports {
  readonly app: number;
  readonly forgetful: number;
  readonly tls: number;
  readonly plain: number;
  readonly forgetfulTls: number;
}

function nginxConfiguration(home: string, ports: Ports): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  const certificate = `ssl_certificate ${home}/certificate.pem; ssl_certificate_key ${home}/key.pem;`;
  return `
daemon off;
worker_processes 1;
pid ${home}/nginx.pid;
error_log ${home}/error.log;
events {}
http {
  access_log off;
  # A request that never ends is given up while a test can wait for it.
  client_header_timeout 1s;
  client_body_timeout 1s;
  keepalive_timeout 1s;
  ${temporary.map((name) => `${name}_temp_path ${home}/${name};`).join('\n  ')}
  server { listen 127.0.0.1:${ports.tls} ssl; ${certificate} ${proxied(ports.app)} }
  server { listen 127.0.0.1:${ports.plain}; ${proxied(ports.app)} }
  server { listen 127.0.0.1:${ports.forgetfulTls} ssl; ${certificate} ${proxied(ports.forgetful)} }
}
`;
}

/** Accounts and clients, as the admin command makes them. */
async function populate(settings: Record<string, string>) {
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
    const client = async (name: string, alone: boolean): Promise<TestClient> => {
      const made = await createOAuthClient(database, {
        owner: { id: ada.id, role: 'member' },
        name,
        grants: alone ? ['client_credentials'] : ['authorization_code', 'refresh_token'],
        scopes: scopesOfRole('member'),
        redirectUris: alone ? [] : [REDIRECT_URI],
        public: false,
      });
      return { id: made.client_id, secret: made.client_secret ?? '' };
    };
    return {
      ada,
      grace,
      admin,
      client: await client('Reader', false),
      otherClient: await client('Other', false),
      machine: await client('Machine', true),
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
  const [app = 0, forgetful = 0, tls = 0, plain = 0, forgetfulTls = 0] = await freePorts(5);
  const origin = `https://127.0.0.1:${tls}`;
  const encoding = {
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  } as const;
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048, ...encoding });
  const settings = {
    NODE_ENV: 'production',
    DATABASE_URL: pooled,
    DIRECT_DATABASE_URL: database.url,
    DATA_DIR: join(folder, 'data'),
    SECRET_KEY: randomBytes(48).toString('base64'),
    PUBLIC_URL: origin,
    CORS_ORIGINS: 'https://app.example.com',
    METRICS_TOKEN,
    JWT_SECRET,
    JWT_PUBLIC_KEY: rsa.publicKey,
    JWT_ISSUER: ISSUER,
    JWT_AUDIENCE: AUDIENCE,
    // What is counted is tried elsewhere.
    RATE_LIMIT_BURST: '1000000',
    RATE_LIMIT_PER_SECOND: '1000000',
    FAILURE_BURST: '1000000',
    REQUEST_TIMEOUT_MS: '1500',
    SHUTDOWN_DELAY: '0',
    LOG_LEVEL: 'warn',
  };
  const script = (file: string, ...args: string[]) => [join(ROOT, file), ...args];
  await run({
    file: process.execPath,
    args: script('src/admin/main.ts', 'migrate'),
    cwd: folder,
    env: settings,
  });
  const people = await populate(settings);

  const serve = async (port: number, more: Record<string, string>) => {
    const env = { ...settings, ...more, PORT: String(port) };
    const service = start({ file: process.execPath, args: script('src/main.ts'), cwd: folder, env });
    keep(() => service.stop());
    const ready = async () => (await fetch(`http://127.0.0.1:${port}/health/ready`)).ok;
    await until('the service', ready, { service, signal });
  };
  await Promise.all([serve(app, { TRUST_PROXY: '127.0.0.1' }), serve(forgetful, {})]);

  const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')];
  await run({
    file: 'openssl',
    args: [
      ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '1'],
      ...[
        '-keyout',
        key,
        '-out',
        certificate,
        '-subj',
        '/CN=127.0.0.1',
        '-addext',
        'subjectAltName=IP:127.0.0.1',
      ],
    ],
    cwd: folder,
  });
  const file = join(folder, 'nginx.conf');
  await writeFile(file, nginxConfiguration(folder, { app, forgetful, tls, plain, forgetfulTls }));
  const args = ['-e', join(folder, 'error.log'), '-p', folder, '-c', file];
  const nginx: Service = start({ file: findNginx(), args, cwd: folder });
  keep(() => nginx.stop());
  const plainOrigin = `http://127.0.0.1:${plain}`;
  await until('nginx', async () => (await fetch(`${plainOrigin}/health/live`)).ok, {
    service: nginx,
    signal,
  });
  return {
    origin,
    certificate: await readFile(certificate, 'utf8'),
    plainOrigin,
    forgetfulOrigin: `https://127.0.0.1:${forgetfulTls}`,
    port: app,
    rsa,
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
    // nginx' own user must reach what is its in it.
    await chmod(folder, 0o755);
    project.provide('deployment', await deploy(folder, (end) => void ends.push(end)));
  } catch (error) {
    await teardown();
    throw error;
  }
  return teardown;
}
