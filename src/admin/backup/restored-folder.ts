import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { RESTORING } from '../../platform/db/embedded/major-version.ts';
import { AdminError } from '../output.ts';
import { CLUSTER, SECRET_FILES } from './back-up.ts';

/** The data folder until it is whole. */
export const DRAFT = 'postgres.restored';

/** Where a file of DATA_DIR is until then. */
export const draftOf = (dataDir: string, name: string): string => join(dataDir, `${name}.restored`);

/** Of the lock that this process has, and of the file system of a disk of its own. */
const IGNORED = new Set(['lock', 'lock-journal', 'lost+found']);
const REMAINS = new Set([DRAFT, CLUSTER, ...SECRET_FILES.flatMap((name) => [name, `${name}.restored`])]);
const SOCKET = /^\.s\.PGSQL\.\d+$/;

/** Whether a restore may have left it, besides its mark. */
const isRemains = (name: string) => REMAINS.has(name) || SOCKET.test(name);

/** Throws AdminError if the folder has anything but what an interrupted restore has left. */
export function refuseContent(dataDir: string): void {
  const names = readdirSync(dataDir).filter((name) => !IGNORED.has(name));
  const interrupted = names.includes(RESTORING);
  const other = names.find((name) => !(interrupted && (name === RESTORING || isRemains(name))));
  if (other !== undefined)
    throw new AdminError(
      `DATA_DIR "${dataDir}" is not empty: it has "${other}". Restore into an empty or a new folder, and keep this one until the other works.`,
    );
}

/** Removes what a restore has left, but for its mark. Only where `refuseContent` has found nothing else. */
export function removeRemains(dataDir: string): void {
  for (const name of readdirSync(dataDir))
    if (isRemains(name)) rmSync(join(dataDir, name), { recursive: true, force: true });
}
