import type { AdminCommand } from '../../admin/command.ts';
import { AdminError } from '../../admin/output.ts';
import { audit, OPERATOR } from '../../audit/audit.ts';
import type { Config } from '../../platform/config.ts';
import type { Database } from '../../platform/db/database.ts';
import {
  dropSigningKey,
  listSigningKeys,
  rotateSigningKey,
  sealerOf,
  signerOf,
} from '../tokens/signing-keys.ts';

async function list(database: Database, config: Config) {
  const keys = await listSigningKeys(database, sealerOf(config));
  const signer = signerOf(keys);
  return keys.map(({ id, createdAt, signsFrom, usable }) => ({
    id,
    createdAt,
    signsFrom,
    signs: id === signer?.id,
    usable,
  }));
}

function rotate(database: Database, config: Config) {
  return database.unitOfWork({ author: OPERATOR }).run(async (work) => {
    const made = await rotateSigningKey(work, sealerOf(config));
    await audit(work, 'signing-key.rotate', made.id);
    return made;
  });
}

function drop(database: Database, id: string) {
  return database.unitOfWork({ author: OPERATOR }).run(async (work) => {
    if (!(await dropSigningKey(work, id))) throw new AdminError(`There is no signing key "${id}".`);
    await audit(work, 'signing-key.drop', id);
    return { id, dropped: true };
  });
}

/** `signing-key rotate`, `signing-key list`, `signing-key drop`. */
export const signingKeyCommands: AdminCommand = {
  name: 'signing-key',
  description: 'manages the keys that sign OAuth access tokens',
  define(key, run) {
    key
      .command('rotate')
      .description(
        'creates a key that takes over in ten seconds; earlier tokens stay valid until they expire',
      )
      .action(() => run(({ database, config }) => rotate(database, config)));

    key
      .command('list')
      .description('lists the keys in signing order')
      .action(() => run(({ database, config }) => list(database, config)));

    key
      .command('drop <id>')
      .description(
        'removes a compromised key; within a minute, tokens that it signed are no longer valid; open streams end when these expire',
      )
      .allowUnknownOption()
      .helpOption('--help')
      .action((id: string) => run(({ database }) => drop(database, id)));
  },
};
