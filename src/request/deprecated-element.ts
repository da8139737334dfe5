/** An element of the schema that is to go, as a client that asks is told of it. */
export interface DeprecatedElement {
  /** Its schema coordinate (GraphQL specification, section 2.14). */
  readonly element: string;
  readonly reason: string;
  /** The days on which it was deprecated and on which it goes, if the reason names them. */
  readonly since: string | null;
  readonly until: string | null;
}

/** The day after a word, if there is such a day. */
function dayAfter(word: 'since' | 'until', reason: string): string | null {
  const [, day] = new RegExp(`\\b${word} (\\d{4}-\\d{2}-\\d{2})(?!\\d)`, 'i').exec(reason) ?? [];
  const date = new Date(`${day}T00:00:00Z`);
  return day !== undefined && !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day)
    ? day
    : null;
}

/** Reads the days of a reason: "Use `text`, since 2026-12-01, until 2027-06-01." */
export const deprecatedElement = (element: string, reason: string): DeprecatedElement => ({
  element,
  reason,
  since: dayAfter('since', reason),
  until: dayAfter('until', reason),
});

/** The first of some days; undefined if there is none. */
function earliest(days: readonly (string | null)[]): Date | undefined {
  const [first] = days.filter((day) => day !== null).sort();
  return first === undefined ? undefined : new Date(`${first}T00:00:00Z`);
}

/** What clients are told by headers: since when, and until when, at the earliest. */
export function deprecationHeaders(used: readonly DeprecatedElement[]): Record<string, string> {
  const since = earliest(used.map((element) => element.since));
  const until = earliest(used.map((element) => element.until));
  return {
    // RFC 9745 section 2.1: a structured date.
    ...(since === undefined ? {} : { deprecation: `@${since.getTime() / 1_000}` }),
    // RFC 8594 section 3: an HTTP date.
    ...(until === undefined ? {} : { sunset: until.toUTCString() }),
  };
}
