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
export const textNamed = (workload: Asked, name: string): string =>
  GRAPHQL[workload].replace(/^(query Page)?/, `query ${name}`);

/** Publishes texts by the command. How long that takes, in seconds. */
export async function publishTexts(databaseUrl: string, texts: readonly string[]): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'content-graph-bench-'));
  try {
    const file = join(folder, 'documents.json');
    await writeFile(file, JSON.stringify(Object.fromEntries(texts.map((text) => [idOf(text), text]))));
    const command = ['scripts/run.cjs', 'src/admin/main.ts', 'documents', 'publish', '--client', 'bench'];
    const env = { PATH: process.env.PATH, ...productionSettings(), DATABASE_URL: databaseUrl };
    const startMs = performance.now();
    await promisify(execFile)(process.execPath, [...command, file], { cwd: ROOT, env });
    return (performance.now() - startMs) / 1000;
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** A request of a workload, by its text or by the id that this has been published under. */
export function requestBy(by: 'text' | 'id', workload: Asked, text: string, key = ''): Buffer {
  const { variables } = bodyOf(workload, 'graphql', '', '') as { variables?: object };
  const asked = by === 'text' ? { query: text } : { documentId: idOf(text) };
  return postRequest('/graphql', { ...asked, variables }, { authorization: `Bearer ${key}` });
}
