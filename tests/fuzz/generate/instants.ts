import type { Random } from '../../support/random.ts';
import { oneIn } from './draw.ts';
import type { Known } from './known.ts';

/** At the edges of what a date-time may be, and past them. */
const STRANGE_INSTANTS = [
  '2001-01-01T00:00:00+02:00',
  '2001-01-01T00:00:00.123456789Z',
  '2001-01-01t00:00:00z',
  '2001-01-01',
  '2001-02-30T00:00:00Z',
  '2001-01-01T24:00:00Z',
  '2016-12-31T23:59:60Z',
  '0000-01-01T00:00:00Z',
  '9999-12-31T23:59:59.999Z',
  '2100-01-01T00:00:00-23:59',
  'now',
  '',
  0,
] as const;

const FAR = '2100-01-01T00:00:00.000Z';
const MINUTE_MS = 60_000;
/** How far from an instant that something was made at. */
const STEPS_MS = [0, 0, 0, 1, -1, 7, -7, 13, 22, 32, 492, 1_000, 12 * 60 * MINUTE_MS];

/** Hours and minutes from UTC, as they stand in a text. */
function offsetText(minutes: number): string {
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  const two = (number: number) => String(number).padStart(2, '0');
  return `${minutes < 0 ? '-' : '+'}${two(hours)}:${two(rest)}`;
}

/** An instant near one that means something, in one of the forms of RFC 3339: any offset, any number of digits. */
function written(random: Random, { instants }: Known): string {
  const at = Date.parse(random.pick([...instants, FAR])) + random.pick(STEPS_MS);
  const minutes = oneIn(random, 3) ? random.below(2 * 24 * 60 - 1) - (24 * 60 - 1) : 0;
  // As a clock shows it there; the fraction is cut or gets longer, which makes it another instant or the same.
  const local = new Date(at + minutes * MINUTE_MS).toISOString();
  const [seconds = '', rest = ''] = local.split('.');
  const digits = `${rest.slice(0, 3)}${String(random.below(1_000_000)).padStart(6, '0')}`;
  const length = random.pick([0, 1, 2, 3, 3, 4, 6, 9]);
  // Some software leaves out the zeros at the end.
  const shown = oneIn(random, 3) ? rest.slice(0, 3).replace(/0+$/, '') : digits.slice(0, length);
  const fraction = shown === '' ? '' : `.${shown}`;
  const zone = minutes === 0 && !oneIn(random, 4) ? 'Z' : offsetText(minutes);
  const text = `${seconds}${fraction}${zone}`;
  return oneIn(random, 10) ? text.toLowerCase() : text;
}

/** What stands for an instant, now and then something that is none. */
export function randomInstant(random: Random, known: Known): unknown {
  if (oneIn(random, 6)) return random.pick<unknown>(STRANGE_INSTANTS);
  return oneIn(random, 3)
    ? random.pick([...known.instants, '2020-01-01T00:00:00.000Z'])
    : written(random, known);
}
