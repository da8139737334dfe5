/**
 * Runs after `npm ci`, when the Prisma client has been generated. Removes Prisma's query compilers for other databases, its
 * studio and its local server, and builds that no program of the project loads. In a production install (`--omit=dev`) it
 * removes everything that only generates the client, too. npm cannot leave these packages out: `prisma` depends on them,
 * and `@prisma/client` names `prisma` as an optional peer.
 */
import { existsSync, globSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
/** The one direct dependency that a production install does not need at run time. */
const BUILD_ONLY = ['prisma'];
/** Loaded by commands of Prisma's CLI that the project does not use: "prisma studio" and "prisma dev". */
const UNUSED_PACKAGES = ['@prisma/studio-core', '@prisma/dev'];
/** Is there wherever development packages are. */
const DEVELOPMENT_PACKAGE = 'node_modules/vitest';
const GENERATED = 'src/generated/prisma/internal/class.ts';
const RUNTIME = 'node_modules/@prisma/client/runtime';
/** Second builds, themes, and the headers of Node, by which no package here is compiled. */
const UNUSED_FOLDERS = [
  'node_modules/highlight.js/{scss,styles}',
  'node_modules/@graphql-yoga/render-graphiql/cjs',
  'node_modules/node/node_modules/node-*/{include,share}',
];
/** Loaded by the pages of development. */
const DEVELOPMENT_FOLDERS = ['node_modules/highlight.js/es'];
const COMPILER = /^query_compiler_/;

interface LockedPackage {
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

type Locked = Readonly<Record<string, LockedPackage>>;

/** What a package cannot do without, and what it uses if it is there. */
function namesOf({
  dependencies = {},
  optionalDependencies = {},
  peerDependencies = {},
  peerDependenciesMeta = {},
}: LockedPackage): string[] {
  const peers = Object.keys(peerDependencies).filter((name) => peerDependenciesMeta[name]?.optional !== true);
  return [...Object.keys(dependencies), ...Object.keys(optionalDependencies), ...peers];
}

/** The path of the package that Node finds for a name, from the package at `from`. */
function resolvePackage(locked: Locked, from: string, name: string): string | undefined {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('node_modules/') - 1))) {
    const path = posix.join(folder, 'node_modules', name);
    if (path in locked) return path;
    if (folder === '') return undefined;
  }
}

/** The paths of the packages that the project needs, without those that only the packages `except` need. */
function neededOf(locked: Locked, names: readonly string[], except: readonly string[] = []): Set<string> {
  const needed = new Set<string>();
  const waiting = names.map((name) => ({ from: '', name })).filter(({ name }) => !except.includes(name));
  for (const { from, name } of waiting) {
    const path = resolvePackage(locked, from, name);
    // Optional packages may be missing, direct dependencies never are.
    if (path === undefined && from === '')
      throw new Error(`package-lock.json has no ${name}: nothing was removed.`);
    if (path === undefined || needed.has(path)) continue;
    needed.add(path);
    const next = namesOf(locked[path] ?? {}).filter((other) => !except.includes(other));
    waiting.push(...next.map((other) => ({ from: path, name: other })));
  }
  return needed;
}

function removePackages(paths: Iterable<string>, needed: ReadonlySet<string>): void {
  for (const path of paths) {
    // What is nested in a needed package may not be needed, but never the other way round.
    const holds = [...needed].some((other) => other === path || other.startsWith(`${path}/`));
    if (path !== '' && !holds) rmSync(join(root, path), { recursive: true, force: true });
  }
}

function removeCompilers(): void {
  const generated = readFileSync(join(root, GENERATED), 'utf8');
  const files = readdirSync(join(root, RUNTIME)).filter((file) => COMPILER.test(file));
  const used = files.filter((file) => generated.includes(`runtime/${file}`));
  // Another version may name them otherwise; the service would not start.
  if (used.length === 0)
    throw new Error(`${GENERATED} names no compiler of ${RUNTIME}: nothing was removed.`);
  for (const file of files) if (!used.includes(file)) rmSync(join(root, RUNTIME, file));
}

const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
  packages: Locked;
};
const { dependencies = {}, devDependencies = {} } = packages[''] ?? {};
const isDevelopment = existsSync(join(root, DEVELOPMENT_PACKAGE));
removeCompilers();
if (isDevelopment) {
  const names = Object.keys({ ...dependencies, ...devDependencies });
  removePackages(neededOf(packages, names), neededOf(packages, names, UNUSED_PACKAGES));
} else {
  removePackages(Object.keys(packages), neededOf(packages, Object.keys(dependencies), BUILD_ONLY));
}
const folders = isDevelopment ? UNUSED_FOLDERS : [...UNUSED_FOLDERS, ...DEVELOPMENT_FOLDERS];
for (const folder of globSync(folders, { cwd: root }))
  rmSync(join(root, folder), { recursive: true, force: true });
