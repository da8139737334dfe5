import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { endOfTest, temporaryFolder, until } from '../support/processes/process.ts';
import { admin as runAdmin } from '../support/processes/server.ts';
import { seededRandom } from '../support/random.ts';
import { makeKey, ownDatabase, UNLIMITED } from './own-database.ts';
import { restartedServer } from './restarted-server.ts';

/** CRASH_EDITS says how many. */
const EDITS = Number(process.env.CRASH_EDITS ?? 300);
const POSTS = 20;
const CLIENTS = 8;
/** A crash comes so many edits after the one before. */
const EDITS_BETWEEN = { least: 20, range: 40 };
const RETRY_MS = 10;
/** Only ends a request that hangs: a connection breaks as soon as the process at its other end is killed. */
const PATIENCE_MS = 120_000;

const CREATE = 'mutation { createPost(title: "edited", body: "b") { id } }';
const READ = 'query ($id: ID!) { post(id: $id) { version title } }';
const EDIT =
  'mutation ($id: ID!, $title: String!, $v: Int!) { updatePost(id: $id, title: $title, ifVersion: $v) { version } }';

interface GraphQLResponse {
  readonly data?: Readonly<Record<string, { readonly id: string; readonly version: number } | null>> | null;
  readonly errors?: readonly { readonly extensions: { readonly code: string; readonly version?: number } }[];
}

it('each edit that was acknowledged is one version and, as an admin’s, one audit entry, whoever edits and whatever is killed', async () => {
  const database = { DATABASE_URL: await ownDatabase() };
  const folders = [await temporaryFolder(), await temporaryFolder()] as const;
  const servers = [
    await restartedServer(folders[0], { ...UNLIMITED, ...database }),
    await restartedServer(folders[1], { ...UNLIMITED, ...database }),
  ] as const;
  const [author, admin] = [await makeKey(folders[0], database), await makeKey(folders[0], database, 'admin')];
  const crashing = seededRandom('concurrent edits: crashes');
  const asking = seededRandom('concurrent edits: requests');
  const choosing = seededRandom('concurrent edits: posts');
  const ended = endOfTest();

  /** Undefined where nobody knows whether it was done. */
  async function ask(
    apiKey: string,
    query: string,
    variables: object,
    key?: string,
  ): Promise<GraphQLResponse | undefined> {
    try {
      const response = await fetch(`${await asking.pick(servers).origin()}/graphql`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          authorization: `Bearer ${apiKey}`,
          ...(key === undefined ? {} : { 'idempotency-key': key }),
        },
        body: JSON.stringify({ query, variables }),
        signal: AbortSignal.timeout(PATIENCE_MS),
      });
      return [200, 409].includes(response.status) ? ((await response.json()) as GraphQLResponse) : undefined;
    } catch {
      return undefined;
    }
  }

  /** The same request until it is answered. */
  async function responded(
    apiKey: string,
    query: string,
    variables: object,
    key?: string,
  ): Promise<GraphQLResponse> {
    for (;;) {
      ended.throwIfAborted();
      const result = await ask(apiKey, query, variables, key);
      const busy = result?.errors?.some(({ extensions }) => extensions.code === 'IDEMPOTENCY_IN_PROGRESS');
      if (result !== undefined && !busy) return result;
      await delay(RETRY_MS);
    }
  }

  const ids: string[] = [];
  for (let made = 0; made < POSTS; made += 1)
    ids.push((await responded(author, CREATE, {}, randomUUID())).data?.createPost?.id ?? '');
  const versionOf = async (id: string) => (await responded(admin, READ, { id })).data?.post?.version ?? 0;

  const acknowledged = new Map(ids.map((id) => [id, 0]));
  let done = 0;
  let begun = 0;
  let conflicts = 0;

  /** As somebody who reads, writes, and reads again if others were faster. */
  async function edit(number: number): Promise<void> {
    const id = choosing.pick(ids);
    for (let version = await versionOf(id); ; ) {
      const { data, errors } = await responded(
        admin,
        EDIT,
        { id, title: `edit ${number}`, v: version },
        randomUUID(),
      );
      if (data?.updatePost != null) {
        expect(data.updatePost.version).toBe(version + 1);
        break;
      }
      const [{ extensions } = { extensions: { code: 'nothing' } }] = errors ?? [];
      expect(extensions).toEqual({ code: 'CONFLICT', version: expect.any(Number) });
      conflicts += 1;
      version = extensions.version ?? 0;
    }
    acknowledged.set(id, (acknowledged.get(id) ?? 0) + 1);
    done += 1;
  }

  async function client(): Promise<void> {
    while (begun < EDITS) {
      begun += 1;
      await edit(begun);
    }
  }

  async function crashes(): Promise<number> {
    let next = 0;
    for (let count = 0; ; count += 1) {
      next += EDITS_BETWEEN.least + crashing.below(EDITS_BETWEEN.range);
      if (next >= EDITS) return count;
      await until('more edits', () => done >= next);
      await crashing.pick(servers).crash();
    }
  }

  const [killed] = await Promise.all([crashes(), ...Array.from({ length: CLIENTS }, client)]);
  for (const id of ids) expect((await versionOf(id)) - 1, id).toBe(acknowledged.get(id));
  const { json: entries } = await runAdmin(['audit', 'list', '--action', 'updatePost'], folders[0], database);
  for (const id of ids)
    expect(entries.filter(({ subject }: { subject: string }) => subject === id)).toHaveLength(
      acknowledged.get(id) ?? 0,
    );
  expect(done).toBe(EDITS);
  expect(conflicts).toBeGreaterThan(0);
  expect(killed).toBeGreaterThan(EDITS / 200);
  process.stdout.write(`${done} edits of ${POSTS} posts, ${conflicts} conflicts, ${killed} crashes\n`);
});
