import { BreakingChangeType, buildSchema, findSchemaChanges, type SchemaChange } from 'graphql';
import { deprecableElements, deprecatedElements } from '../../src/engine/documents/deprecations.ts';
import type { Surface } from './surface.ts';

/** How much a change asks of those who use the service. */
export type Level = 'major' | 'minor' | 'patch';

/** A line of the change log. */
export interface Change {
  readonly kind: 'schema' | keyof Surface;
  readonly level: Level;
  readonly text: string;
}

const BREAKING: readonly string[] = Object.values(BreakingChangeType);

/** Removals that the check of the schema lets pass are no break: nobody is left who needs what is gone. */
function levelOf({ type }: SchemaChange): Level {
  if (type === 'DESCRIPTION_CHANGED') return 'patch';
  return 'minor';
}

/** What differs between two schemas whose promises are kept: breaking changes are those that nobody minds. */
function schemaChanges(before: string, after: string): Change[] {
  const [earlier, later] = [buildSchema(before), buildSchema(after)];
  const [wasDeprecated, isDeprecated] = [deprecatedElements(earlier), deprecatedElements(later)];
  const changes = findSchemaChanges(earlier, later).map((change): Change => {
    const removed = BREAKING.includes(change.type) ? ' Nobody used it any more.' : '';
    return { kind: 'schema', level: levelOf(change), text: `${change.description}${removed}` };
  });
  for (const [element, { reason }] of isDeprecated) {
    const was = wasDeprecated.get(element)?.reason;
    const what = was === undefined ? 'is deprecated' : 'is deprecated for another reason';
    if (was !== reason)
      changes.push({ kind: 'schema', level: 'minor', text: `${element} ${what}: ${reason}` });
  }
  const left = deprecableElements(later);
  for (const element of wasDeprecated.keys())
    if (!isDeprecated.has(element) && left.has(element))
      changes.push({ kind: 'schema', level: 'minor', text: `${element} is no longer deprecated.` });
  return changes;
}

/** The name of a metric or a code is its first word, that of a command what comes before its arguments. */
function nameOf(kind: keyof Surface, entry: string): string {
  const [name = entry] = kind === 'commands' ? entry.split(/ (?=[-<[])/) : entry.split(' ');
  return name;
}

const positionals = (words: readonly string[]): string[] => words.filter((word) => /^[<[]/.test(word));
const bare = (positional: string): string => positional.slice(1, -1);

/** Whether who relies on how an entry was can go on. */
function isKept(kind: keyof Surface, before: string, after: string): boolean {
  const [was, is] = [before.split(' '), after.split(' ')];
  // A code has its status, a metric its type and its labels.
  if (kind === 'codes' || (kind === 'metrics' && was[1] !== is[1])) return false;
  if (kind !== 'commands') return was.every((word) => is.includes(word));
  const [given, taken] = [positionals(was), positionals(is)];
  const inPlace = given.every((one, index) => {
    const now = taken[index] ?? '';
    // What was required may become optional.
    return now === one || (bare(now) === bare(one) && now.startsWith('['));
  });
  const more = taken.slice(given.length);
  const options = was.filter((word) => word.startsWith('-'));
  return inPlace && more.every((one) => one.startsWith('[')) && options.every((word) => is.includes(word));
}

function surfaceChanges(kind: keyof Surface, before: readonly string[], after: readonly string[]): Change[] {
  const byName = (entries: readonly string[]) =>
    new Map(entries.map((entry) => [nameOf(kind, entry), entry]));
  const [earlier, later] = [byName(before), byName(after)];
  const changes: Change[] = [];
  for (const [name, entry] of later) {
    const was = earlier.get(name);
    if (was === undefined) changes.push({ kind, level: 'minor', text: `\`${entry}\` is new.` });
    else if (was !== entry) {
      const level = isKept(kind, was, entry) ? 'minor' : 'major';
      changes.push({ kind, level, text: `\`${was}\` is now \`${entry}\`.` });
    }
  }
  for (const [name, entry] of earlier)
    if (!later.has(name)) changes.push({ kind, level: 'major', text: `\`${entry}\` is gone.` });
  return changes;
}

/** A schema in SDL, and what there is beside it. */
export interface Published {
  readonly schema: string;
  readonly surface: Surface;
}

/** All that has changed, of each kind in turn. */
export function changesBetween(before: Published, after: Published): Change[] {
  const kinds = ['settings', 'codes', 'metrics', 'commands'] as const;
  return [
    ...schemaChanges(before.schema, after.schema),
    ...kinds.flatMap((kind) => surfaceChanges(kind, before.surface[kind], after.surface[kind])),
  ];
}

/** The version after some changes (Semantic Versioning). */
export function versionAfter(version: string, changes: readonly Change[]): string {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number);
  if (changes.some(({ level }) => level === 'major')) return `${major + 1}.0.0`;
  if (changes.some(({ level }) => level === 'minor')) return `${major}.${minor + 1}.0`;
  return `${major}.${minor}.${patch + 1}`;
}

const TITLES: Readonly<Record<Change['kind'], string>> = {
  schema: 'Schema',
  settings: 'Settings',
  codes: 'Error codes',
  metrics: 'Metrics',
  commands: 'Commands',
};

/** A section of the change log. */
export function changeLogSection(version: string, at: Date, changes: readonly Change[]): string {
  const parts = Object.entries(TITLES).flatMap(([kind, title]) => {
    const lines = changes.filter((change) => change.kind === kind).map(({ text }) => `- ${text}`);
    return lines.length === 0 ? [] : [`### ${title}`, lines.join('\n')];
  });
  const body = parts.length === 0 ? ['Nothing that clients or operators see has changed.'] : parts;
  return [`## ${version}, ${at.toISOString().slice(0, 10)}`, ...body].join('\n\n');
}
