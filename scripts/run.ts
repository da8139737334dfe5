import './ensure-client.ts';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const ROOT = join(import.meta.dirname, '..');

/** Runs it in this process, which gets its signals and has its exit code. */
export async function run(): Promise<void> {
  const [node = process.execPath, , program, ...args] = process.argv;
  if (process.exitCode !== 0 || program === undefined) return;
  const path = join(ROOT, program.includes('/') ? program : `node_modules/.bin/${program}`);
  process.argv = [node, path, ...args];
  await import(pathToFileURL(path).href);
}
