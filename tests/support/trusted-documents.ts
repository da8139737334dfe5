import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { adminCommand, type CommandResult } from './admin-command.ts';
import type { TestApp } from './app.ts';
import { type GraphQLResponse, readResponse } from './graphql.ts';

type Commanded = Pick<TestApp, 'database' | 'config'>;

/** A file by its name: its text, or what its JSON is of. */
export type Files = Readonly<Record<string, string | object>>;

export interface PublishOptions {
  readonly client?: string;
  readonly release?: string;
  readonly partial?: boolean;
}

/** `document publish` with files that last as long as the command. */
export async function publishFiles(
  app: Commanded,
  files: Files,
  { client = 'web', release, partial = false }: PublishOptions = {},
): Promise<CommandResult> {
  const folder = await mkdtemp(join(tmpdir(), 'documents-'));
  try {
    const paths = Object.keys(files).map((name) => join(folder, name));
    for (const [name, content] of Object.entries(files))
      await writeFile(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content));
    return await adminCommand(app, [
      ...['document', 'publish', '--client', client],
      ...(release === undefined ? [] : ['--release', release]),
      ...(partial ? ['--partial'] : []),
      ...paths,
    ]);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** `document publish` with an object from ids to texts. */
export const publish = (
  app: Commanded,
  texts: Readonly<Record<string, string>>,
  options?: PublishOptions,
): Promise<CommandResult> => publishFiles(app, { 'documents.json': texts }, options);

/** An id that nobody else has. */
export const freshId = (): string => `document-${randomUUID()}`;

/** Publishes a text under a fresh id, which it returns. */
export async function published(app: Commanded, text: string, options?: PublishOptions): Promise<string> {
  const id = freshId();
  expect((await publish(app, { [id]: text }, options)).json).toEqual({
    published: 1,
    unchanged: 0,
    rejected: [],
  });
  return id;
}

/** `document retire`. How many are unknown from now on. */
export async function retire(app: Commanded, ...what: readonly string[]): Promise<number> {
  return (await adminCommand(app, ['document', 'retire', ...what])).json.retired;
}

/** The members of a request, unchecked. */
export type Members = Readonly<Record<string, unknown>>;

/** The ways in which a request names a document. */
export const NAMINGS: readonly (readonly [string, (id: string) => Members])[] = [
  ['documentId', (documentId) => ({ documentId })],
  ['persistedQuery', (sha256Hash) => ({ extensions: { persistedQuery: { version: 1, sha256Hash } } })],
];

export interface MembersOptions {
  readonly key?: string;
  readonly method?: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
}

/** Members as the parameters of an address. */
export const addressOf = (members: Members): string =>
  `/graphql?${new URLSearchParams(
    Object.entries(members).map(([name, value]) => [
      name,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
  )}`;

/** Sends members as they are, in a body or an address. */
export function sendMembers(
  { fetch }: Pick<TestApp, 'fetch'>,
  members: Members,
  { key, method = 'POST', headers = {} }: MembersOptions = {},
): Promise<Response> {
  const authorization: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` };
  if (method === 'GET') return fetch(addressOf(members), { headers: { ...authorization, ...headers } });
  return fetch('/graphql', {
    method,
    headers: { 'content-type': 'application/json', ...authorization, ...headers },
    body: JSON.stringify(members),
  });
}

/** The same with the response read. */
export const askMembers = async (...given: Parameters<typeof sendMembers>): Promise<GraphQLResponse> =>
  readResponse(await sendMembers(...given));
