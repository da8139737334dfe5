/**
 * `npm run size [-- FOLDER…]`: prints the lines of code of each top-level folder, or of all in a folder. Blank lines, comments, lock files, data and
 * generated files do not count.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { Command } from 'commander';
import { countLines } from './count-lines.ts';

const ROOT = join(import.meta.dirname, '..');
const CODE = /\.(?:[cm]?[jt]sx?|css|svelte|sql|prisma|sh)$/;
/** Files that a command of package.json writes. */
const GENERATED = /(?:^|\/)(?:generated|released)\//;
const TOP_LEVEL = ['src', 'tests', 'bench', 'scripts', 'examples', 'prisma', 'packages', 'deploy'];

interface Size {
  readonly files: number;
  readonly lines: number;
}

/** Finds the files under version control, and new files that are not ignored. */
function listFiles(): string[] {
  const output = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  return output.split('\n').filter((file) => CODE.test(file) && !GENERATED.test(file));
}

function measure(files: readonly string[]): Size {
  const lines = files.map((file) => countLines(readFileSync(join(ROOT, file), 'utf8'), extname(file)));
  return { files: files.length, lines: lines.reduce((sum, count) => sum + count, 0) };
}

function formatRow(name: string, { files, lines }: Size): string {
  return `${name.padEnd(36)}${String(lines).padStart(8)} lines${String(files).padStart(6)} files\n`;
}

/** Formats a folder and, below it, what it contains. */
function formatFolder(folder: string, files: readonly string[]): string {
  const depth = folder.split('/').length + 1;
  const parts = Map.groupBy(files, (file) => file.split('/').slice(0, depth).join('/'));
  const rows = [...parts].map(([name, members]) => formatRow(`  ${name}`, measure(members)));
  return [formatRow(folder, measure(files)), ...rows.sort()].join('');
}

const folders = new Command('npm run size --')
  .description('Prints the lines of code of each top-level folder, or of all in the folders.')
  .argument('[folder...]', 'for example src or tests/api')
  .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : 2))
  .parse().args;
const files = listFiles();
const inFolder = (folder: string) => files.filter((file) => file.startsWith(`${folder}/`));
const reports =
  folders.length > 0
    ? folders.map((folder) => formatFolder(folder, inFolder(folder)))
    : TOP_LEVEL.map((folder) => formatRow(folder, measure(inFolder(folder))));
process.stdout.write(reports.join(''));
