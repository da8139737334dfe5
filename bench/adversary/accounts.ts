import { randomBytes, randomUUID } from 'node:crypto';
import { createAccount } from '../../src/auth/accounts.ts';
import { createApiKey } from '../../src/auth/api-keys.ts';
import { hashPassword } from '../../src/auth/passwords.ts';
import { scopesOfRole } from '../../src/auth/scopes.ts';
import { type Database, openDatabase } from '../../src/database/database.ts';
import { statement } from '../../src/database/statement.ts';
import { createOAuthClient } from '../../src/features/oauth/clients.ts';
import { loadConfig } from '../../src/platform/config/config.ts';
import { createLogger } from '../../src/platform/log/log.ts';

const PASSWORD = 'correct horse battery staple';
const KEYS = 4;
/** Where the attacker's OAuth client waits for its codes. Nobody goes there. */
export const CALLBACK = 'https://client.example/callback';
/** Almost as much as a response may have, in characters of three bytes. */
const COMMENTS = 500;
const COMMENT_CHARACTERS = 5_000;

const SET_PASSWORD = statement<never>('bench_password', 'UPDATE users SET password_hash = $2 WHERE id = $1');
const ADD_POST = statement<never>(
  'bench_post',
  `INSERT INTO posts (id, author_id, title, body, created_at) VALUES ($1, $2, $3, $4, now())`,
);
/** Each begins elsewhere in the text. They are older than any that comes later, so they stay the first ones. */
const ADD_COMMENTS = statement<never>(
  'bench_comments',
  `INSERT INTO comments (id, post_id, author_id, body, created_at)
   SELECT gen_random_uuid(), $1, $2, substr($3::text, i) || substr($3::text, 1, i - 1), now() - interval '1 day'
   FROM generate_series(1, ${COMMENTS}) AS i`,
);

/** What one account can use within its limits. */
export interface Attacker {
  readonly id: string;
  readonly keys: readonly string[];
  readonly email: string;
  readonly password: string;
  /** A post of its own. */
  readonly postId: string;
  /** A post of somebody's with long comments. */
  readonly largePostId: string;
  /** An OAuth client of its own, with all grants. */
  readonly client: { readonly id: string; readonly secret: string };
}

/** Somebody else. */
export interface Ordinary {
  readonly key: string;
  readonly email: string;
  readonly password: string;
  readonly postId: string;
}

export interface Accounts {
  /** Each with buckets and a budget of its own, so that nobody has to wait for the last one's to fill again. */
  readonly attackers: readonly Attacker[];
  readonly ordinary: Ordinary;
}

/** Letters of three bytes each, in no order. */
const letters = (count: number) =>
  String.fromCharCode(
    ...Array.from(
      new Uint16Array(randomBytes(2 * count).buffer.slice(0, 2 * count)),
      (n) => 0x4e00 + (n % 0x5000),
    ),
  );

async function makeOne(database: Database, passwordHash: string, name: string) {
  const email = `${name}-${randomUUID()}@adversary.example`;
  const { id } = await createAccount(database, { name, email, role: 'member' });
  const postId = randomUUID();
  await database.query(ADD_POST, [postId, id, name, 'b']);
  await database.query(SET_PASSWORD, [id, passwordHash]);
  const key = async () =>
    (await createApiKey(database, { userId: id, name: 'bench', scopes: scopesOfRole('member') })).key;
  return { id, email, password: PASSWORD, postId, key };
}

async function makeAttacker(
  database: Database,
  passwordHash: string,
  largePostId: string,
): Promise<Attacker> {
  const { key, ...account } = await makeOne(database, passwordHash, 'attacker');
  const keys: string[] = [];
  for (let index = 0; index < KEYS; index += 1) keys.push(await key());
  const { client_id: id, client_secret: secret = '' } = await createOAuthClient(database, {
    owner: { id: account.id, role: 'member' },
    name: 'bench',
    grants: ['client_credentials', 'authorization_code', 'refresh_token'],
    scopes: scopesOfRole('member'),
    redirectUris: [CALLBACK],
    public: false,
  });
  return { ...account, keys, largePostId, client: { id, secret } };
}

/** Makes accounts of attackers and that of an ordinary client, with the limits of the settings. */
export async function makeAccounts(
  settings: Readonly<Record<string, string>>,
  attackers = 1,
): Promise<Accounts> {
  const config = loadConfig(settings);
  const log = createLogger({ level: 'warn', pretty: false, destination: process.stderr });
  const database = await openDatabase({ config, log });
  try {
    const passwordHash = await hashPassword(PASSWORD);
    const { key, ...ordinary } = await makeOne(database, passwordHash, 'ordinary');
    const writer = await makeOne(database, passwordHash, 'writer');
    await database.query(ADD_COMMENTS, [writer.postId, writer.id, letters(COMMENT_CHARACTERS)]);
    const made: Attacker[] = [];
    for (let index = 0; index < attackers; index += 1)
      made.push(await makeAttacker(database, passwordHash, writer.postId));
    return { attackers: made, ordinary: { ...ordinary, key: await key() } };
  } finally {
    await database.close();
  }
}
