import { type Command, InvalidArgumentError } from 'commander';
import { audit, OPERATOR } from '../../auth/audit.ts';
import { DOCUMENTS_CHANNEL } from '../../database/session-settings.ts';
import { runInPrisma } from '../../database/unit-of-work.ts';
import {
  listUnpublishedUsage,
  type Release,
  retireDocuments,
} from '../../engine/documents/trusted/document-store.ts';
import { CLIENT_NAMES } from '../../features/features.ts';
import type { DefineCommands, Opened } from '../cli/connection.ts';
import { parseCredentialName } from '../cli/options.ts';
import { print } from '../cli/output.ts';
import { type ManifestEntry, readManifest } from './manifest.ts';

interface ReleaseOptions {
  readonly client?: string;
  readonly release?: string;
}

interface ListOptions {
  readonly client?: string;
  readonly texts?: boolean;
}

interface PublishOptions extends ReleaseOptions {
  readonly client: string;
  readonly partial?: boolean;
}

/**
 * Without a release name, the documents without a release are meant.
 * @returns undefined if the options name nothing to retire.
 */
function retiredBy(ids: readonly string[], { client, release }: ReleaseOptions) {
  if (ids.length > 0) return client === undefined && release === undefined ? ids : undefined;
  return client === undefined ? undefined : { client, release: release ?? '' };
}

async function list({ database }: Opened, { client, texts = false }: ListOptions) {
  const publications = await runInPrisma(database, (prisma) =>
    prisma.documentPublication.findMany({
      where: client === undefined ? {} : { client },
      include: { document: { select: { operationName: true, lastUsedAt: true, text: texts } } },
      orderBy: [{ publishedAt: 'asc' }, { client: 'asc' }, { release: 'asc' }, { documentId: 'asc' }],
    }),
  );
  return publications.map(({ documentId, client, release, publishedAt, document }) => ({
    id: documentId,
    client,
    release: release === '' ? null : release,
    operationName: document.operationName,
    publishedAt,
    lastUsedAt: document.lastUsedAt,
    ...(texts ? { text: document.text } : {}),
  }));
}

async function retire({ database, io }: Opened, ids: readonly string[], what: Release | readonly string[]) {
  const { ended, retired } = await database.unitOfWork({ author: OPERATOR }).run(async (work) => {
    const done = await retireDocuments(work, what, DOCUMENTS_CHANNEL);
    const named = 'client' in what ? what : { documents: done.ended };
    await audit(work, 'document.retire', 'client' in what ? what.client : null, {
      ...named,
      retired: done.retired,
    });
    return done;
  });
  const unknown = ids.filter((id) => !ended.includes(id));
  if (unknown.length > 0) print(io.stderr, `Documents that are not published: ${unknown.join(', ')}.`);
  if (ended.length > retired)
    print(io.stderr, `Documents that other releases still publish: ${ended.length - retired}.`);
  return { retired };
}

/** An empty string means no release, so it is not a valid name. */
function parseRelease(text: string): string {
  if (text.trim() === '') throw new InvalidArgumentError('It must not be empty.');
  return parseCredentialName(text);
}

export const defineDocumentCommands: DefineCommands = ({ add, command, run, io }) => {
  add('document', 'Manage published documents');

  add('document publish <file...>', 'Validate and publish the documents of manifests or .graphql files')
    .requiredOption('--client <name>', 'name of the client that sends the documents', parseCredentialName)
    .option('--release <name>', 'release of the client', parseRelease)
    .option('--partial', 'Publish the valid documents even if some are rejected')
    .action(async (files: readonly string[], { client, release = '', partial = false }: PublishOptions) => {
      const manifests = await io.input('files', async () => JSON.stringify(files.flatMap(readManifest)));
      await run(async (opened) => {
        const { publish } = await import('./publish-documents.ts');
        return publish(opened, JSON.parse(manifests) as ManifestEntry[], { client, release, partial });
      });
    });

  command('document list', 'List published documents, oldest first', list)
    .option('--client <name>', 'documents of this client only')
    .option('--texts', 'Include the query string of each document');

  add('document retire [id...]', 'Retire a release of a client, or documents of all releases')
    .option('--client <name>', 'client of the release')
    .option('--release <name>', 'release; default: documents published without a release')
    .action((ids: readonly string[], options: ReleaseOptions, self: Command) => {
      const what = retiredBy(ids, options);
      if (what === undefined)
        self.error(
          'error: specify what to retire: ids of documents, or --client NAME with or without --release NAME',
        );
      return run((opened) => retire(opened, ids, what));
    });

  command(
    'document list-unpublished',
    'List operations that the next step of TRUSTED_DOCUMENTS would reject, by client',
    ({ database, config }) => listUnpublishedUsage(database, config.trustedDocuments, CLIENT_NAMES),
  );
};
