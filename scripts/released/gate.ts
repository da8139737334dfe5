import { BreakingChangeType, buildSchema, findBreakingChanges } from 'graphql';
import { type DeprecatedElement, deprecatedElements } from '../../src/engine/documents/deprecations.ts';
import { type Release, releaseOf } from './release-head.ts';
import type { Usage } from './usage-file.ts';
import { withoutElements } from './without-deprecated.ts';

const DAY_MS = 86_400_000;
/** A report that begins after an element's day must cover at least this many days. */
const UNUSED_DAYS = 30;

const REMOVALS: readonly string[] = [
  BreakingChangeType.FIELD_REMOVED,
  BreakingChangeType.ARG_REMOVED,
  BreakingChangeType.VALUE_REMOVED_FROM_ENUM,
];

/** The schema coordinate in the description of a change. */
const COORDINATE = /\b\w+\.\w+(?:\(\w+:\))?/;
const TYPE_NAME = /^(?:Standard scalar )?(\w+)/;

const elementOf = (description: string): string => COORDINATE.exec(description)?.[0] ?? '';

const times = (count: number): string => (count === 1 ? 'once' : `${count} times`);
const release = (name: string | null): string => (name === null ? '' : `, release ${name}`);

/** Who uses an element, a line for each client and release, and for each published document. */
function users(element: string, { usage, documents }: Usage, sinceMs = 0): string[] {
  return [
    ...usage
      .filter((use) => use.element === element && use.lastUsedAt.getTime() >= sinceMs)
      .map(({ client, clientName, kind, release: of, count, lastUsedAt }) => {
        const name = clientName === null ? client : `${clientName} (${client})`;
        const how = kind === client ? '' : `, ${kind}`;
        return `${name}${how}${release(of)}: ${times(count)}, last on ${lastUsedAt.toISOString().slice(0, 10)}`;
      }),
    ...documents
      .filter(({ elements }) => elements.includes(element))
      .map(({ id, client, release: of }) => `published document ${id} of ${client}${release(of)}`),
  ];
}

/** Why an element of the released schema may not be removed; undefined if nobody needs it. */
function rejection(
  element: string,
  deprecated: DeprecatedElement | undefined,
  { version, at }: Release,
  usage: Usage | undefined,
): string | undefined {
  if (deprecated === undefined)
    return `Release ${version} does not deprecate it, so its use is not counted: nobody may know who needs it. Deprecate it, release that, and remove it once nobody uses it.`;
  const { since } = deprecated;
  if (since === null)
    return `Its reason names no day ("since YYYY-MM-DD") from which on it is not to be used: "${deprecated.reason}".`;
  if (usage === undefined)
    return 'It is deprecated: pass --usage FILE, the output of "npm run -s admin -- deprecation report" where clients use the service.';
  if (usage.createdAt < at)
    return `The report is of ${usage.createdAt.toISOString()}, and older than release ${version}: make a new one.`;
  const sinceMs = Date.parse(since);
  if (usage.createdAt.getTime() < sinceMs)
    return `It may be used until ${since}, its day, and the report is of ${usage.createdAt.toISOString().slice(0, 10)}.`;
  if (usage.since.getTime() > Math.max(sinceMs, usage.createdAt.getTime() - UNUSED_DAYS * DAY_MS))
    return `The report begins on ${usage.since.toISOString().slice(0, 10)}: it must have all uses since ${since}, or of ${UNUSED_DAYS} days.`;
  const found = users(element, usage, sinceMs);
  return found.length === 0 ? undefined : ['It is still used by', ...found].join('\n  - ');
}

/**
 * The breaking changes from the released schema to that of the code, each with who is in the way. Empty if there are none: what
 * is gone was released as deprecated, and the report shows that nobody needs it. Throws for a released schema without its head.
 */
export function brokenPromises(released: string, present: string, usage?: Usage): readonly string[] {
  const head = releaseOf(released);
  const before = buildSchema(released);
  const deprecated = deprecatedElements(before);
  const changes = findBreakingChanges(before, buildSchema(present));
  const gone = new Set(
    changes.flatMap(({ type, description }) => (REMOVALS.includes(type) ? elementOf(description) : [])),
  );
  const left = withoutElements(released, (element) => gone.has(element) && deprecated.has(element));
  return changes.flatMap(({ type, description }) => {
    // A type that only what is deprecated and gone led to: whoever needs it uses some of that.
    if (type === BreakingChangeType.TYPE_REMOVED) {
      const [, name = ''] = TYPE_NAME.exec(description) ?? [];
      if (before.getType(name) !== undefined && left.getType(name) === undefined) return [];
    }
    const element = elementOf(description);
    if (REMOVALS.includes(type)) {
      const why = rejection(element, deprecated.get(element), head, usage);
      return why === undefined ? [] : [`${description} ${why}`];
    }
    const found = usage === undefined ? [] : users(element, usage);
    const who =
      found.length === 0
        ? 'Nothing tells who relies on how it was: nobody may know.'
        : ['It is used by', ...found].join('\n  - ');
    return [`${description} ${who}`];
  });
}
