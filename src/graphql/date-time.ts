import { GraphQLError, type ValueNode, valueFromASTUntyped } from 'graphql';

/** RFC 3339 section 5.6, `date-time`. Leap seconds are refused: a Date cannot represent them. */
const DATE_TIME =
  /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(\.\d+)?(?:[Zz]|([+-])(\d{2}):(\d{2}))$/;

const MINUTE_MS = 60_000;
/** RFC 3339 has years of four digits. An offset may lead beyond them. */
const FIRST_MS = Date.parse('0000-01-01T00:00:00.000Z');
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z');

const at = (node: ValueNode | undefined) => ({ nodes: node ?? null });

/**
 * Parses an RFC 3339 date-time and truncates it to milliseconds. Throws GraphQLError, as scalars do, for
 * anything else. `node` gives the error its location in the document.
 */
export function parseDateTime(value: unknown, node?: ValueNode): Date {
  const match = typeof value === 'string' ? DATE_TIME.exec(value) : null;
  if (match === null)
    throw new GraphQLError(
      'DateTime must be an RFC 3339 date-time such as "2026-11-21T09:30:00Z".',
      at(node),
    );
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match.slice(1, 7).map(Number);
  const offsetHours = Number(match[9] ?? 0);
  const offsetMinutes = Number(match[10] ?? 0);
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  date.setUTCHours(hour, minute, second, Number((match[7] ?? '.0').slice(1, 4).padEnd(3, '0')));
  const exists =
    date.getUTCMonth() === month - 1 &&
    date.getUTCDate() === day &&
    hour < 24 &&
    minute < 60 &&
    second < 60 &&
    offsetHours < 24 &&
    offsetMinutes < 60;
  if (!exists) throw new GraphQLError(`DateTime "${match[0]}" does not exist.`, at(node));
  const offset = (offsetHours * 60 + offsetMinutes) * MINUTE_MS;
  const instantMs = date.getTime() - (match[8] === '-' ? -offset : offset);
  if (instantMs < FIRST_MS || instantMs > LAST_MS)
    throw new GraphQLError(`DateTime "${match[0]}" is not in the years 0 to 9999 of UTC.`, at(node));
  return new Date(instantMs);
}

/** The same for a literal. graphql-js leaves it to the scalar to add the location. */
export const parseDateTimeLiteral = (node: ValueNode): Date => parseDateTime(valueFromASTUntyped(node), node);
