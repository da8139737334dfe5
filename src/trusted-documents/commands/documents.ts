import { InvalidArgumentError } from 'commander';
import type { AdminCommand } from '../../admin/command.ts';
import type { Opened } from '../../admin/connection.ts';
import { parseCredentialName } from '../../admin/options.ts';
import { AdminError, tell } from '../../admin/output.ts';
import { DOCUMENTS_CHANNEL } from '../../platform/db/channels.ts';
import { listDocuments, retireDocuments } from '../store.ts';
import { listTextUses } from '../text-uses-report.ts';

interface ReleaseOptions {
  readonly client?: string;
  readonly release?: string;
}

interface PublishOptions extends ReleaseOptions {
  readonly client: string;
  readonly partial?: boolean;
}

/** What is to be retired: a release, or some ids. */
function retiredBy(ids: readonly string[], { client, release }: ReleaseOptions) {
  if (ids.length > 0 && client === undefined && release === undefined) return ids;
  if (ids.length === 0 && client !== undefined && release !== undefined) return { client, release };
  throw new AdminError('Name the ids of documents, or --client and --release.');
}

async function retire({ database }: Opened, ids: readonly string[], options: ReleaseOptions) {
  const what = retiredBy(ids, options);
  const { ended, retired } = await database
    .unitOfWork()
    .run((work) => retireDocuments(work, what, DOCUMENTS_CHANNEL));
  const unknown = ids.filter((id) => !ended.includes(id));
  if (unknown.length > 0) tell(`Not published: ${unknown.join(', ')}.`);
  if (ended.length > retired) tell(`${ended.length - retired} stay published by other releases.`);
  return { retired };
}

/** The name of a release; documents without one have none. */
function parseRelease(text: string): string {
  if (text.trim() === '') throw new InvalidArgumentError('It must not be empty.');
  return parseCredentialName(text);
}

/** `documents publish`, `documents list`, `documents retire`, `documents unknown`. `clientNames` is SQL of ids and names. */
export const documentCommands = (clientNames: readonly string[]): AdminCommand => ({
  name: 'documents',
  description: 'manages the published documents that clients name by their ids',
  define(documents, run) {
    documents
      .command('publish <file...>')
      .description('checks the documents of manifests or .graphql files, and publishes them')
      .requiredOption('--client <name>', 'the client that they are of', parseCredentialName)
      .option('--release <name>', 'the release of the client', parseRelease)
      .option('--partial', 'publishes the others where some are refused')
      .action((files: readonly string[], { client, release = '', partial = false }: PublishOptions) =>
        run(async (opened) => {
          const { publish } = await import('./publish.ts');
          return publish(opened, files, { client, release, partial });
        }),
      );

    documents
      .command('list')
      .description('lists the published documents, oldest first')
      .option('--client <name>', 'those of one client')
      .action(({ client }: ReleaseOptions) => run(({ database }) => listDocuments(database, client)));

    documents
      .command('retire [id...]')
      .description('ends a release, or documents of all releases: their ids are unknown from then on')
      .option('--client <name>', 'the client of the release')
      .option('--release <name>', 'the release')
      .action((ids: readonly string[], options: ReleaseOptions) =>
        run((opened) => retire(opened, ids, options)),
      );

    documents
      .command('unknown')
      .description(
        'lists the clients that the next step of TRUSTED_DOCUMENTS would refuse, and what they send',
      )
      .action(() =>
        run(({ database, config }) => listTextUses(database, config.trustedDocuments, clientNames)),
      );
  },
});
