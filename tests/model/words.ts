import { badInput, type Fault, textFaults } from './wrong.ts';

/** What stands in a text: a word, or one character of a script that has no spaces. */
interface Token {
  readonly text: string;
  /** Undefined for a word; whether a character is the first of those that stand together. */
  readonly begins: boolean | undefined;
}

/** What a post must have, or must not have: tokens one after the other. */
interface Part {
  readonly tokens: readonly Token[];
  readonly isExcluded: boolean;
  /** Whether the last word need only begin so. */
  readonly isPrefix: boolean;
}

/** The guide to searching: letters, digits and marks, and the scripts whose words have no spaces between them. */
const CHARACTER = /[\p{L}\p{N}\p{M}]/u;
const SPACELESS =
  /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]/u;
const ACCENTS = /[\u0300-\u036f]/g;
const SAME: Readonly<Record<string, string>> = { ß: 'ss', ς: 'σ' };
const LONGEST_WORD = 64;

const plain = (text: string): string =>
  text
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(ACCENTS, '')
    .replaceAll(/[ßς]/g, (letter) => SAME[letter] ?? letter);

const kindOf = (character: string) =>
  CHARACTER.test(character) ? (SPACELESS.test(character) ? 'spaceless' : 'word') : 'none';

/** The text in pieces of one kind. */
function piecesOf(text: string): { readonly kind: ReturnType<typeof kindOf>; text: string }[] {
  const pieces: ReturnType<typeof piecesOf> = [];
  for (const character of text) {
    const kind = kindOf(character);
    const last = pieces.at(-1);
    if (last?.kind === kind) last.text += character;
    else pieces.push({ kind, text: character });
  }
  return pieces;
}

function tokensOf(text: string): Token[] {
  return piecesOf(text).flatMap(({ kind, text: piece }): Token[] => {
    if (kind === 'none') return [];
    if (kind === 'spaceless')
      return [...plain(piece)].map((character, at) => ({ text: character, begins: at === 0 }));
    // Some letters stand for several, with something else between them.
    return piecesOf(plain(piece).normalize('NFC')).flatMap((part) =>
      part.kind === 'none' ? [] : { text: [...part.text].slice(0, LONGEST_WORD).join(''), begins: undefined },
    );
  });
}

/** A prefix of this many characters is one, also a shorter one that is not ASCII. */
const isLong = (word: string) => word.length >= 3 || /[^\0-\x7f]/.test(word);

function partsOf(query: string): Part[] {
  return [...query.matchAll(/(-?)(?:"([^"]*)"?|([^\s"]+))/gu)]
    .map(([, minus, quoted, bare = '']) => ({
      tokens: tokensOf(quoted ?? bare),
      isExcluded: minus === '-',
      isPrefix: bare.endsWith('*'),
    }))
    .filter(({ tokens }) => tokens.length > 0);
}

/** Of characters that stand together, the first two and the last two count. */
function countWords({ tokens }: Part): number {
  const begin = tokens.flatMap(({ begins }, at) => (begins === false ? [] : at));
  const lengths = begin.map((at, index) => (begin[index + 1] ?? tokens.length) - at);
  return lengths.reduce((sum, length) => sum + (length > 2 ? 2 : 1), 0);
}

const MAX_WORDS = 8;

export const queryFaults = (query: string): Fault[] => {
  const words = partsOf(query).reduce((sum, part) => sum + countWords(part), 0);
  return [...textFaults('query', query, { max: 200 }), ...(words > MAX_WORDS ? [badInput('query')] : [])];
};

/** Whether the tokens stand one after the other in a text, and those that stand together in one place. */
function stands({ tokens, isPrefix }: Part, text: readonly Token[]): boolean {
  return text.some((_, start) =>
    tokens.every((token, at) => {
      const there = text[start + at];
      if (there === undefined || (token.begins === undefined) !== (there.begins === undefined)) return false;
      if (token.begins === false && there.begins === true) return false;
      const isBeginning = isPrefix && at === tokens.length - 1 && token.begins === undefined;
      return isBeginning && isLong(token.text)
        ? there.text.startsWith(token.text)
        : there.text === token.text;
    }),
  );
}

interface Text {
  readonly title: string;
  readonly body: string;
}

/** Whether a query finds a post. One without words finds nothing. */
export function isFound(query: string, { title, body }: Text): boolean {
  const parts = partsOf(query);
  const texts = [tokensOf(title), tokensOf(body)];
  return (
    parts.length > 0 && parts.every((part) => texts.some((text) => stands(part, text)) !== part.isExcluded)
  );
}
