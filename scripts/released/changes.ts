import { BreakingChangeType, buildSchema, findSchemaChanges, type SchemaChange } from 'graphql';
import { deprecatedElements } from '../../src/operation/deprecations.ts';
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
  for (const [element, { reason }] of isDeprecated)
    if (!wasDeprecated.has(element))
      changes.push({ kind: 'schema', level: 'minor', text: `${element} is deprecated: ${reason}` });
  return changes;
}

/** The name of a metric is its first word, that of a command what comes before its arguments. */
function nameOf(kind: keyof Surface, entry: string): string {
  const [name = entry] = kind === 'commands' ? entry.split(/ (?=[-<[])/) : entry.split(' ');
  return name;
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
      const kept = was.split(' ').every((word) => entry.split(' ').includes(word));
      changes.push({ kind, level: kept ? 'minor' : 'major', text: `\`${was}\` is now \`${entry}\`.` });
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
