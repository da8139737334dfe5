import { setImmediate as nextLoopIteration } from 'node:timers/promises';

/*
 * A change of the rules for words needs a migration that updates `search_position` like `search rebuild`. The service
 * then writes all entries again.
 */

/** Scripts without spaces between words. */
const DENSE =
  '[[\\p{scx=Han}\\p{scx=Hiragana}\\p{scx=Katakana}\\p{scx=Thai}\\p{scx=Lao}\\p{scx=Khmer}\\p{scx=Myanmar}]&&[\\p{L}\\p{N}\\p{M}]]';
const WORD = `[[\\p{L}\\p{N}\\p{M}]--${DENSE}]+`;
const RUNS = new RegExp(`${DENSE}+|${WORD}`, 'gv');
const STARTS_DENSE = new RegExp(`^${DENSE}`, 'v');
const WORDS = new RegExp(WORD, 'gv');
const ONLY_ASCII = /^[\0-\x7f]*$/;

/** Longer words are cut to this number of code points. */
const MAX_CHARACTERS = 64;
/** Compatibility forms can have 18 times as many characters, so only a piece of a text is normalized in one step. */
const PIECE = 256;
/** Words of ASCII are yielded together, because yielding a word takes as long as finding it. */
const BATCH = 256;

const withoutAccents = (text: string) => text.replaceAll(/[\u0300-\u036f]/g, '');

function fold(text: string): string {
  const lower = withoutAccents(withoutAccents(text.normalize('NFKD')).toLowerCase());
  return lower.replaceAll('ß', 'ss').replaceAll('ς', 'σ');
}

const cut = (word: string) =>
  word.length > MAX_CHARACTERS ? [...word].slice(0, MAX_CHARACTERS).join('') : word;

const foldAscii = (run: string) => run.slice(0, MAX_CHARACTERS).toLowerCase();

function foldWords(run: string): readonly string[] {
  const piece = run.slice(0, PIECE);
  if (ONLY_ASCII.test(piece)) return [foldAscii(piece)];
  return [...fold(piece).normalize('NFC').matchAll(WORDS)].map(([word]) => cut(word));
}

const isDense = (run: string) => !ONLY_ASCII.test(run) && STARTS_DENSE.test(run);

/** Yields the overlapping pairs of a run in pieces, and then the last character, so that a search for it finds it. */
function* foldPairs(run: string): Generator<readonly string[]> {
  let last: string | undefined;
  for (let at = 0; at < run.length; ) {
    const isSplit = (run.codePointAt(at + PIECE - 1) ?? 0) > 0xffff;
    const end = at + PIECE + (isSplit ? 1 : 0);
    const pairs: string[] = [];
    for (const character of fold(run.slice(at, end))) {
      if (last !== undefined) pairs.push(last + character);
      last = character;
    }
    at = end;
    yield pairs;
  }
  if (last !== undefined) yield [last];
}

/**
 * Yields the words of a text in order, without accents and in lower case. Words are runs of letters, numbers and marks.
 * Scripts without spaces are split into overlapping pairs of characters. Each step takes little time, also for a
 * hostile text.
 */
export function* wordsOf(text: string): Generator<readonly string[]> {
  let ascii: string[] = [];
  for (const run of text.match(RUNS) ?? []) {
    const isAscii = ONLY_ASCII.test(run);
    if (isAscii && ascii.push(foldAscii(run)) < BATCH) continue;
    yield ascii;
    ascii = [];
    if (!isAscii) yield* isDense(run) ? foldPairs(run) : [foldWords(run)];
  }
  yield ascii;
}

/** The words of a query that stand together in a text. */
export interface Run {
  readonly words: readonly string[];
  /** True if the words are overlapping pairs. */
  readonly isDense: boolean;
  /** True for a single character of a script without spaces, with which pairs begin. */
  readonly isSingle: boolean;
  /** The last character of pairs, which has a separate position before the next word. */
  readonly end?: string | undefined;
}

export const parseWords = (query: string): readonly Run[] =>
  (query.match(RUNS) ?? [])
    .map((run) => {
      if (!isDense(run)) return { words: foldWords(run), isDense: false, isSingle: false };
      const pairs = [...foldPairs(run)].flat();
      return pairs.length === 1
        ? { words: pairs, isDense: true, isSingle: true }
        : { words: pairs.slice(0, -1), isDense: true, isSingle: false, end: pairs.at(-1) };
    })
    .filter(({ words }) => words.length > 0);

/** `~` stands for the bucket of a post. No word contains it. */
export const lexeme = (word: string): string => `'~${word}'`;

/** Every entry has this label. */
export const ANY = '=';
export const authorLabel = (id: string): string => `@${id}`;
export const tagLabel = (tag: string): string => `#${Buffer.from(tag).toString('hex')}`;

export interface SearchText {
  readonly title: string;
  readonly body: string;
  readonly authorId: string;
  readonly tags: readonly string[];
}

/** PostgreSQL stores at most these positions, and this many for each word. */
const LAST_POSITION = 16_383;
const MAX_POSITIONS = 255;
/** A tsvector has at most 1 MiB. The bucket and the positions of a word take at most 16 bytes besides the positions. */
const MAX_BYTES = 900_000;
const OVERHEAD_BYTES = 16;
const STEP_MS = 4;

export interface SearchDocument {
  /** The text form of a tsvector, with `~` for the bucket. */
  readonly text: string;
  readonly lexemes: number;
}

/** Lets other work run after each few milliseconds. */
export async function buildDocument({ title, body, authorId, tags }: SearchText): Promise<SearchDocument> {
  const positions = new Map<string, number[]>();
  let sinceMs = performance.now();
  const isLong = () => performance.now() - sinceMs >= STEP_MS;
  const breathe = async () => {
    await nextLoopIteration();
    sinceMs = performance.now();
  };
  let position = 0;
  let bytes = 0;
  for (const part of [title, body]) {
    for (const words of wordsOf(part)) {
      for (const word of words) {
        position += 1;
        const known = positions.get(word);
        if (known === undefined) {
          bytes += Buffer.byteLength(word) + OVERHEAD_BYTES;
          if (bytes > MAX_BYTES) break;
          positions.set(word, position > LAST_POSITION ? [] : [position]);
        } else if (known.length < MAX_POSITIONS && position <= LAST_POSITION) known.push(position);
      }
      if (isLong()) await breathe();
    }
    // A phrase does not reach from the title into the body.
    position += 1;
  }
  const labels = [ANY, authorLabel(authorId), ...tags.map(tagLabel)];
  const parts = labels.map(lexeme);
  for (const [word, of] of positions) {
    parts.push(of.length === 0 ? lexeme(word) : `${lexeme(word)}:${of.join()}`);
    if (parts.length % 256 === 0 && isLong()) await breathe();
  }
  return { text: parts.join(' '), lexemes: parts.length };
}
