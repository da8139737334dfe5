const WEAK_WORDS = /change.?me|secret|password|example/i;
const MIN_DISTINCT_CHARACTERS = 8;

/** Whether somebody could guess a secret that is long enough: words, few different characters, or one piece repeated. */
export function isWeak(secret: string): boolean {
  if (WEAK_WORDS.test(secret) || new Set(secret).size < MIN_DISTINCT_CHARACTERS) return true;
  // A text whose end, from its first half on, is its beginning as well says one thing again and again.
  for (let period = 1; period <= secret.length / 2; period += 1)
    if (secret.startsWith(secret.slice(period))) return true;
  return false;
}
