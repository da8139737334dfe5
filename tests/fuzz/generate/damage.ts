import type { Random } from '../../support/random.ts';

const CHARACTERS = [
  ...'{}()[]:$@!"\\#.,&|=-+0e_a \n\t\r\ufeff\0\u00a0é🐧',
  '\ud800',
  '...',
  '"""',
  '\\u{110000}',
];

/** A text with a mistake or two in it, as fingers and bad software make them. */
export function damaged(random: Random, text: string): string {
  let result = text;
  for (let left = 1 + random.below(2); left > 0; left -= 1) {
    const at = random.below(result.length + 1);
    const [before, after] = [result.slice(0, at), result.slice(at)];
    result = random.pick([
      before + after.slice(1),
      before + after.slice(0, 1) + after,
      before + after.slice(1, 2) + after.slice(0, 1) + after.slice(2),
      before + random.pick(CHARACTERS) + after,
      before,
      before + after.slice(random.below(20)),
    ]);
  }
  return result;
}
