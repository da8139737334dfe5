const WEAK_WORDS = /change.?me|secret|password|example/i;
const MIN_DISTINCT_CHARACTERS = 8;

/** Whether a long secret is still guessable: known words, few distinct characters, a repeated part. */
export function isWeak(secret: string): boolean {
  if (WEAK_WORDS.test(secret) || new Set(secret).size < MIN_DISTINCT_CHARACTERS) return true;
  // The secret repeats with a period if it starts with itself shifted by that period.
  for (let period = 1; period <= secret.length / 2; period += 1)
    if (secret.startsWith(secret.slice(period))) return true;
  return false;
}
