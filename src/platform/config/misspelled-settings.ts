import { FILE_SETTINGS, SETTING_NAMES } from './setting-table.ts';

const READ_FROM_FILES = FILE_SETTINGS.map((name) => `${name}_FILE`);
const KNOWN: readonly string[] = [...SETTING_NAMES, ...READ_FROM_FILES];
/** Two changes of a shorter name lead to common names, such as from HOST to HOME or PGHOST. */
const LONG_NAME_LENGTH = 6;

/** Computes the Levenshtein distance. */
function distanceOf(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const [index, letter] of [...one].entries()) {
    const next = [index + 1];
    for (const [place, expected] of [...other].entries())
      next.push(
        Math.min(
          (next[place] ?? 0) + 1,
          (row[place + 1] ?? 0) + 1,
          (row[place] ?? 0) + (letter === expected ? 0 : 1),
        ),
      );
    row = next;
  }
  return row[other.length] ?? 0;
}

const withoutForm = (name: string): string => name.toUpperCase().replaceAll('_', '');

function meantBy(name: string): string | undefined {
  const base = name.replace(/_FILE$/, '');
  if (base !== name && SETTING_NAMES.includes(base)) return base;
  const written = withoutForm(name);
  return KNOWN.map((known) => ({ known, distance: distanceOf(written, withoutForm(known)) }))
    .filter(({ known, distance }) => distance <= (known.length < LONG_NAME_LENGTH ? 1 : 2))
    .toSorted((one, other) => one.distance - other.distance)[0]?.known;
}

/** @returns the environment variables that are no settings, with the setting that each probably means */
export const misspelledSettings = (names: readonly string[]) =>
  names
    .filter((name) => !KNOWN.includes(name))
    .flatMap((name) => {
      const meant = meantBy(name);
      return meant === undefined ? [] : { name, meant };
    });
