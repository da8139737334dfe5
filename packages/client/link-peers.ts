/** Links the libraries of the adapters, which `examples/clients` installs, so that nothing installs them twice. */
import { existsSync, lstatSync, mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');
const INSTALLED = join(ROOT, 'examples/clients/node_modules');
const LIBRARIES = [
  '@apollo/client',
  '@tanstack/react-query',
  '@types/react',
  '@types/react-dom',
  '@types/relay-runtime',
  '@urql/core',
  '@urql/exchange-persisted',
  'eventsource',
  'graphql',
  'jsdom',
  'react',
  'react-dom',
  'relay-runtime',
  'rxjs',
  'wonka',
];

/**
 * @param folder where the libraries are needed, from the root of the repository
 * @returns false if the libraries are not installed
 */
export function linkPeers(folder: string): boolean {
  if (!existsSync(join(INSTALLED, '@urql/core'))) return false;
  for (const library of LIBRARIES) {
    const link = join(ROOT, folder, 'node_modules', library);
    if (lstatSync(link, { throwIfNoEntry: false }) !== undefined) rmSync(link, { recursive: true });
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(INSTALLED, library), link);
  }
  return true;
}

/**
 * Links the package to a folder with a package of its own, as `npm install` does with a published version.
 * @param folder a folder from the root of the repository
 */
export function linkClient(folder: string): void {
  const link = join(ROOT, folder, 'node_modules/content-graph-client');
  if (lstatSync(link, { throwIfNoEntry: false }) !== undefined) rmSync(link, { recursive: true });
  symlinkSync(import.meta.dirname, link);
}
