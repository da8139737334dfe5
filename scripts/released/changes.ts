import { BreakingChangeType, buildSchema, findSchemaChanges, type SchemaChange } from 'graphql';
import { deprecableElements, deprecatedElements } from '../../src/engine/documents/deprecations.ts';
import type { Surface } from './surface.ts';

/** The part of the version that a change raises (Semantic Versioning 2.0.0). */
export type Level = 'major' | 'minor' | 'patch';

/** A line of the change log about one public name. */
export interface Change {
  readonly kind: 'schema' | keyof Surface;
  readonly level: Level;
  readonly text: string;
}

const BREAKING: readonly string[] = Object.values(BreakingChangeType);

const isDescription = ({ type }: SchemaChange): boolean => type === 'DESCRIPTION_CHANGED';

/** A line for each new description would hide the changes that clients must know. */
function countDescriptions(changes: readonly SchemaChange[]): Change[] {
  const { length } = changes.filter(isDescription);
  if (length === 0) return [];
  const text = length === 1 ? '1 description has new words.' : `${length} descriptions have new words.`;
  return [{ kind: 'schema', level: 'patch', text }];
}

/**
 * Compares two schemas. The schema check has accepted each breaking change between them. It accepts a removal only if no
 * client uses the element, so a removal is not a major change.
 */
function schemaChanges(before: string, after: string): Change[] {
  const [earlier, later] = [buildSchema(before), buildSchema(after)];
  const [wasDeprecated, isDeprecated] = [deprecatedElements(earlier), deprecatedElements(later)];
  const found = findSchemaChanges(earlier, later);
  const changes = found
    .filter((change) => !isDescription(change))
    .map((change): Change => {
      const removed = BREAKING.includes(change.type) ? ' No client used it.' : '';
      return { kind: 'schema', level: 'minor', text: `${change.description}${removed}` };
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
  return [...changes, ...countDescriptions(found)];
}

/** Returns the first word of a metric or a code, and the words before the arguments of a command. */
function nameOf(kind: keyof Surface, entry: string): string {
  const [name = entry] = kind === 'commands' ? entry.split(/ (?=[-<[])/) : entry.split(' ');
  return name;
}

const positionals = (words: readonly string[]): string[] => words.filter((word) => /^[<[]/.test(word));
const bare = (positional: string): string => positional.slice(1, -1);

/** Returns true if users of the earlier entry need no change. */
function isKept(kind: keyof Surface, before: string, after: string): boolean {
  const [was, is] = [before.split(' '), after.split(' ')];
  // The second word is the status of a code and the type of a metric.
  if (kind === 'codes' || (kind === 'metrics' && was[1] !== is[1])) return false;
  if (kind !== 'commands') return was.every((word) => is.includes(word));
  const [given, taken] = [positionals(was), positionals(is)];
  const inPlace = given.every((one, index) => {
    const now = taken[index] ?? '';
    // A required argument may become optional.
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
    if (!later.has(name)) changes.push({ kind, level: 'major', text: `\`${entry}\` was removed.` });
  return changes;
}

/** The public interface of a version: its schema in SDL and its other public names. */
export interface Published {
  readonly schema: string;
  readonly surface: Surface;
}

/** Lists the changes of the schema, settings, error codes, metrics, commands and log events, in this order. */
export function changesBetween(before: Published, after: Published): Change[] {
  const kinds = ['settings', 'codes', 'metrics', 'commands', 'logEvents'] as const;
  return [
    ...schemaChanges(before.schema, after.schema),
    ...kinds.flatMap((kind) => surfaceChanges(kind, before.surface[kind], after.surface[kind])),
  ];
}

/** Computes the next version by Semantic Versioning 2.0.0. */
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
  logEvents: 'Log events',
};

/**
 * Formats the section of a release in the change log.
 * @param notes Markdown of the section "Unreleased", which people wrote. It comes first.
 */
export function changeLogSection(version: string, at: Date, changes: readonly Change[], notes = ''): string {
  const parts = Object.entries(TITLES).flatMap(([kind, title]) => {
    const lines = changes.filter((change) => change.kind === kind).map(({ text }) => `- ${text}`);
    return lines.length === 0 ? [] : [`### ${title}`, lines.join('\n')];
  });
  const written = notes.trim() === '' ? [] : [notes.trim()];
  const body = [...written, ...parts];
  const unchanged = 'Nothing that clients or operators see has changed.';
  return [
    `## ${version}, ${at.toISOString().slice(0, 10)}`,
    ...(body.length === 0 ? [unchanged] : body),
  ].join('\n\n');
}
