import { type Command, InvalidArgumentError } from 'commander';
import { audit, OPERATOR } from '../../auth/audit.ts';
import { DOCUMENTS_CHANNEL } from '../../database/session-settings.ts';
import { runInPrisma } from '../../database/unit-of-work.ts';
import { listTextUses, type Release, retireDocuments } from '../../engine/documents/trusted/store.ts';
import { CLIENT_NAMES } from '../../features/features.ts';
import type { DefineCommands, Opened } from '../cli/connection.ts';
import { parseCredentialName } from '../cli/options.ts';
import { tell } from '../cli/output.ts';
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

/** What is to be retired: a release, that without a name, or some ids. Undefined if it is not said. */
function retiredBy(ids: readonly string[], { client, release }: ReleaseOptions) {
  if (ids.length > 0) return client === undefined && release === undefined ? ids : undefined;
  return client === undefined ? undefined : { client, release: release ?? '' };
}

/** Lists the publications, or those of a client, oldest first. */
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
    await audit(work, 'documents.retire', 'client' in what ? what.client : null, {
      ...named,
      retired: done.retired,
    });
    return done;
  });
  const unknown = ids.filter((id) => !ended.includes(id));
  if (unknown.length > 0) tell(io.stderr, `Not published: ${unknown.join(', ')}.`);
  if (ended.length > retired) tell(io.stderr, `${ended.length - retired} stay published by other releases.`);
  return { retired };
}

/** The name of a release; documents without one have none. */
function parseRelease(text: string): string {
  if (text.trim() === '') throw new InvalidArgumentError('It must not be empty.');
  return parseCredentialName(text);
}

export const defineDocumentCommands: DefineCommands = ({ add, command, run, io }) => {
  add('documents', 'manages the published documents that clients name by their ids');

  add(
    'documents publish <file...>',
    'checks the documents of manifests or .graphql files, and publishes them',
  )
    .requiredOption('--client <name>', 'the client that they are of', parseCredentialName)
    .option('--release <name>', 'the release of the client', parseRelease)
    .option('--partial', 'publishes the others where some are refused')
    .action(async (files: readonly string[], { client, release = '', partial = false }: PublishOptions) => {
      const manifests = await io.input('files', async () => JSON.stringify(files.flatMap(readManifest)));
      await run(async (opened) => {
        const { publish } = await import('./publish-documents.ts');
        return publish(opened, JSON.parse(manifests) as ManifestEntry[], { client, release, partial });
      });
    });

  command('documents list', 'lists the published documents, oldest first', list)
    .option('--client <name>', 'those of one client')
    .option('--texts', 'with the text of each document');

  add(
    'documents retire [id...]',
    'ends a release, or documents of all releases: their ids are unknown from then on',
  )
    .option('--client <name>', 'the client of the release')
    .option('--release <name>', 'the release; without it, what was published without one')
    .action((ids: readonly string[], options: ReleaseOptions, self: Command) => {
      const what = retiredBy(ids, options);
      if (what === undefined) self.error('error: name the ids of documents, or --client and --release');
      return run((opened) => retire(opened, ids, what));
    });

  command(
    'documents unknown',
    'lists the clients that the next step of TRUSTED_DOCUMENTS would refuse, and what they send',
    ({ database, config }) => listTextUses(database, config.trustedDocuments, CLIENT_NAMES),
  );
};
