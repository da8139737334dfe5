/**
 * Runs after `npm ci`, when the Prisma client has been generated. Removes Prisma's query compilers for other databases, and
 * folders that no program of the project loads. In a production install (`--omit=dev`) it removes everything that only
 * generates the client, too: Prisma's CLI and its engines. npm cannot leave them out: `@prisma/client` names the CLI as an
 * optional peer.
 */
import { existsSync, globSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
/** Of all direct dependencies, it alone is not needed at run time. */
const BUILD_ONLY = 'prisma';
/** Is there wherever development packages are. */
const DEVELOPMENT_PACKAGE = 'node_modules/vitest';
const GENERATED = 'src/generated/prisma/internal/class.ts';
const RUNTIME = 'node_modules/@prisma/client/runtime';
/** A second build of GraphiQL, and the headers of Node, by which no package here is compiled. */
const UNUSED = [
  'node_modules/@graphql-yoga/render-graphiql/cjs',
  'node_modules/node/node_modules/node-*/{include,share}',
];
const COMPILER = /^query_compiler_/;

interface LockedPackage {
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

/** The paths of the packages that the service needs at run time. */
function neededOf(locked: Locked): Set<string> {
  const needed = new Set<string>();
  const waiting = namesOf({ dependencies: locked['']?.dependencies ?? {} })
    .filter((name) => name !== BUILD_ONLY)
    .map((name) => ({ from: '', name }));
  for (const { from, name } of waiting) {
    const path = resolvePackage(locked, from, name);
    // Optional packages may be missing, direct dependencies never are.
    if (path === undefined && from === '')
      throw new Error(`package-lock.json has no ${name}: nothing was removed.`);
    if (path === undefined || needed.has(path)) continue;
    needed.add(path);
    waiting.push(...namesOf(locked[path] ?? {}).map((next) => ({ from: path, name: next })));
  }
  return needed;
}

function removePackages(locked: Locked): void {
  const needed = neededOf(locked);
  for (const path of Object.keys(locked)) {
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

const isProduction = !existsSync(join(root, DEVELOPMENT_PACKAGE));
removeCompilers();
if (isProduction) {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Locked;
  };
  removePackages(packages);
}
for (const folder of globSync(UNUSED, { cwd: root }))
  rmSync(join(root, folder), { recursive: true, force: true });
