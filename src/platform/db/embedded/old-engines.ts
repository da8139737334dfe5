import { OperatorError } from '../../operator-error.ts';
import type { Engine } from '../transfer/engine-side.ts';

/** The last PGlite of each earlier major version: development packages, which a production install lacks. */
const OLD_ENGINES = {
  '17': { from: 'pglite-17@npm:@electric-sql/pglite@0.3.16', load: () => import('pglite-17') },
};

/** A major version of PostgreSQL whose data can be moved to the present one. */
export type OldMajor = keyof typeof OLD_ENGINES;

export const OLD_MAJORS = Object.keys(OLD_ENGINES).filter(isOldMajor);

export function isOldMajor(major: string): major is OldMajor {
  return major in OLD_ENGINES;
}

/** Opens a folder of an earlier version, and writes to it. Throws OperatorError if the engine is not installed. */
export async function loadOldEngine(major: OldMajor): Promise<(folder: string) => Promise<Engine>> {
  const { from, load } = OLD_ENGINES[major];
  try {
    const { PGlite } = await load();
    return (folder) => PGlite.create(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new OperatorError(
      `The package that reads the data of PostgreSQL ${major} is not installed: run "npm install --no-save ${from}", then the command again.`,
      { cause: error },
    );
  }
}
