import { audit, OPERATOR } from '../../auth/audit.ts';
import type { DefineCommands, Opened } from '../cli/connection.ts';

/** The server, and not the command, writes the entries. Other commands do not load the module. */
async function rebuild({ database }: Opened) {
  const { rebuildIndex } = await import('../../schema/search/index-store.ts');
  return database.unitOfWork({ author: OPERATOR }).run(async (work) => {
    const rebuilding = await rebuildIndex(work);
    await audit(work, 'search.rebuild', null);
    return { rebuilding };
  });
}

export const defineSearchCommands: DefineCommands = ({ add, command }) => {
  add('search', 'Manage the search index');
  command('search rebuild', 'Make the server write all of the search index again', rebuild);
};
