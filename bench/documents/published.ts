import { execFile } from 'node:child_process';
import { hash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { productionSettings } from '../data/service-data.ts';
import { postRequest } from '../harness/connection.ts';
import { bodyOf } from '../workloads/requests.ts';
import { GRAPHQL } from '../workloads/texts.ts';

export const ASKED = ['W2', 'W5', 'W9'] as const;
export type Asked = (typeof ASKED)[number];

const ROOT = resolve(import.meta.dirname, '../..');

export const idOf = (text: string): string => hash('sha256', text, 'hex');

/** The text of a workload under a name of its own: the same SQL. */
export function textNamed(workload: Asked, name: string): string {
  const text = GRAPHQL[workload];
  return text.startsWith('{') ? `query ${name} ${text}` : text.replace('query Page', `query ${name}`);
}

/** Publishes texts by the command. The time that it takes, in ms. */
export async function publishTexts(
  databaseUrl: string,
  texts: readonly string[],
  release: string,
): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'content-graph-bench-'));
  try {
    const file = join(folder, 'documents.json');
    await writeFile(file, JSON.stringify(Object.fromEntries(texts.map((text) => [idOf(text), text]))));
    const admin = [join(ROOT, 'scripts/run.cjs'), 'src/admin/main.ts', 'documents', 'publish'];
    const startMs = performance.now();
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [...admin, '--client', 'bench', '--release', release, file],
      { cwd: ROOT, env: { PATH: process.env.PATH, ...productionSettings(), DATABASE_URL: databaseUrl } },
    );
    const { published } = JSON.parse(stdout) as { published: number };
    if (published !== texts.length) throw new Error(`published ${published} of ${texts.length} documents`);
    return performance.now() - startMs;
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Requests of a workload, by the text or by the id that it has been published under. */
export function requestsBy(by: 'text' | 'id', workload: Asked, texts: readonly string[], key = ''): Buffer[] {
  const { variables } = bodyOf(workload, 'graphql', '', '') as { variables?: object };
  const headers = { authorization: `Bearer ${key}` };
  return texts.map((text) =>
    postRequest(
      '/graphql',
      by === 'text' ? { query: text, variables } : { documentId: idOf(text), variables },
      headers,
    ),
  );
}
