import type { LogEvent } from './position.ts';

/** Which events a stream gets. What is absent lets all through. */
export interface EventFilter {
  /** The names of kinds, sorted. */
  readonly kinds?: readonly string[] | undefined;
  readonly rootId?: string | undefined;
  readonly ownerId?: string | undefined;
  /** Whether it lets nothing through, such as one for an id that is none. */
  readonly nothing?: boolean | undefined;
}

type Filtered = Pick<LogEvent, 'kind' | 'rootId' | 'ownerId'>;

export function matches(
  { kinds, rootId, ownerId, nothing }: EventFilter,
  { kind, rootId: root, ownerId: owner }: Filtered,
): boolean {
  return (
    nothing !== true &&
    (rootId === undefined || rootId === root) &&
    (ownerId === undefined || ownerId === owner) &&
    (kinds === undefined || kinds.includes(kind))
  );
}

/** Equal for filters that let the same through. */
export const filterKey = ({ kinds, rootId, ownerId, nothing }: EventFilter): string =>
  nothing === true ? 'nothing' : `${rootId ?? ''} ${ownerId ?? ''} ${kinds?.join() ?? ''}`;

/**
 * Where readers with a filter stand, so that an event asks three places for its readers: that of its root, that of its
 * owner, and that of readers who want neither. Undefined for a filter that lets nothing through.
 */
export function addressOf({ rootId, ownerId, nothing }: EventFilter): string | undefined {
  if (nothing === true) return undefined;
  if (rootId !== undefined) return `root ${rootId}`;
  return ownerId === undefined ? EVERYTHING : `owner ${ownerId}`;
}

const EVERYTHING = 'everything';

/** The addresses of an event's readers. */
export function addressesOf({ rootId, ownerId }: Filtered): readonly string[] {
  const addresses = [EVERYTHING, `root ${rootId}`];
  if (ownerId !== null) addresses.push(`owner ${ownerId}`);
  return addresses;
}
