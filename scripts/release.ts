/**
 * `npm run release [-- --usage FILE]`: compares the schema, settings, error codes, metrics, commands and log events with the last release.
 * It writes the next version, CHANGELOG.md, and the base of the next comparison: schema.released.graphql and
 * scripts/released/surface.json. It changes nothing if a promise of the last release is broken.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { buildSchema } from 'graphql';
import { deprecatedElements } from '../src/engine/documents/deprecations.ts';
import { readArguments } from '../src/platform/process.ts';
import { RELEASED_SCHEMA_FILE, SCHEMA_FILE } from './print-schema.ts';
import { type Change, changeLogSection, changesBetween, versionAfter } from './released/changes.ts';
import { brokenPromises } from './released/gate.ts';
import { headOf, releaseOf } from './released/release-head.ts';
import { presentSurface, SURFACE } from './released/surface.ts';
import { parseUsage } from './released/usage-file.ts';

const HELP = `npm run release [-- --usage FILE]

Write the version that follows from the changes since the last release, CHANGELOG.md, and the base of the next comparison.
Nothing is changed if a promise of the last release is broken.
  --usage FILE  output of "admin deprecation report": elements that no client uses may be removed
`;
const at = (path: string) => new URL(`../${path}`, import.meta.url);
const SURFACE_FILE = at('scripts/released/surface.json');
const CHANGE_LOG = at('CHANGELOG.md');
const CHANGE_LOG_HEAD = `# Changes

Changes of each release that clients and operators see. [Versioning](docs/reference/versioning.md) says what may change in which release.
`;
/** The other files that contain the version, with a pattern that finds it. */
const VERSIONED: readonly (readonly [string, RegExp])[] = [
  ['package.json', /(?<=^ {2}"version": ")[\d.]+/m],
  ['package-lock.json', /(?<=^ {2}"version": ")[\d.]+/m],
  ['package-lock.json', /(?<=^ {4}"": \{\n {6}"name": "content-graph-api",\n {6}"version": ")[\d.]+/m],
  ['deploy/kubernetes/deployment.yaml', /(?<=image: content-graph-api:)[\d.]+/],
  ['deploy/kubernetes/migrate.yaml', /(?<=image: content-graph-api:)[\d.]+/],
];

const read = (file: URL): string => readFileSync(file, 'utf8');

function readSections(): string[] {
  if (!existsSync(CHANGE_LOG)) return [];
  return read(CHANGE_LOG)
    .split(/^(?=## )/m)
    .slice(1);
}

const UNRELEASED = '## Unreleased\n';
const unreleased = (): string | undefined => readSections().find((section) => section.startsWith(UNRELEASED));
const readNotes = (): string => unreleased()?.slice(UNRELEASED.length) ?? '';

interface Made {
  readonly version: string;
  readonly section: string;
}

/** Lists new deprecations without a day or with a day in the past: no instance has counted their usage since then. */
function uncounted(before: string, after: string, today: string): string[] {
  const known = deprecatedElements(buildSchema(before));
  return [...deprecatedElements(buildSchema(after)).values()].flatMap(({ element, reason, since }) =>
    known.get(element)?.reason === reason || (since !== null && since >= today)
      ? []
      : [`${element} is deprecated "${reason}": name a day from ${today} on ("since YYYY-MM-DD").`],
  );
}

/** Formats the section of the first release, which has no earlier release to compare with. */
function firstRelease(now: Date): Made {
  const { version } = JSON.parse(read(at('package.json'))) as { version: string };
  const section = `## ${version}, ${now.toISOString().slice(0, 10)}\n\nThe first release. What it promises is in [the contract](docs/reference/guarantees.md).`;
  return { version, section };
}

/** @throws {Error} if the schema breaks a promise of the last release. */
function nextRelease(now: Date, usageFile: string | undefined): Made {
  const released = read(RELEASED_SCHEMA_FILE);
  const schema = read(SCHEMA_FILE);
  const usage = usageFile === undefined ? undefined : parseUsage(readFileSync(usageFile, 'utf8'));
  const broken = brokenPromises(released, schema, usage);
  const early = uncounted(released, schema, now.toISOString().slice(0, 10));
  if (broken.length + early.length > 0)
    throw new Error(`Nothing is released:\n${[...broken, ...early].join('\n')}`);
  const before = { schema: released, surface: SURFACE.parse(JSON.parse(read(SURFACE_FILE))) };
  const changes: readonly Change[] = changesBetween(before, { schema, surface: presentSurface() });
  const version = versionAfter(releaseOf(released).version, changes);
  return { version, section: changeLogSection(version, now, changes, readNotes()) };
}

function write({ version, section }: Made, now: Date): void {
  for (const [path, place] of VERSIONED) {
    const text = read(at(path));
    if (!place.test(text)) throw new Error(`${path} has no version that matches ${place}`);
    writeFileSync(at(path), text.replace(place, version));
  }
  // A release that stopped halfway has left its section.
  const old = readSections().filter((one) => one !== unreleased() && !one.startsWith(`## ${version},`));
  const sections = [`${section}\n`, ...old];
  writeFileSync(CHANGE_LOG, [CHANGE_LOG_HEAD, ...sections].join('\n'));
  writeFileSync(SURFACE_FILE, `${JSON.stringify(presentSurface(), null, 2)}\n`);
  // This file is written last, because the schema check takes the release from it.
  writeFileSync(RELEASED_SCHEMA_FILE, `${headOf({ version, at: now })}${read(SCHEMA_FILE)}`);
}

if (import.meta.main) {
  const values = readArguments(HELP, { usage: { type: 'string' } });
  const now = new Date();
  try {
    const made = existsSync(RELEASED_SCHEMA_FILE) ? nextRelease(now, values.usage) : firstRelease(now);
    write(made, now);
    process.stdout.write(
      `${made.section}\n\nLook at "git diff", run .ci/run, then:\n  git commit --all --message "chore(release): publish ${made.version}" && git tag v${made.version}\n`,
    );
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
}
