import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { blocksOf } from './markdown.ts';

const ROOT = join(import.meta.dirname, '../../..');

/** Where a block of a guide goes. An anchor is a part of one line. */
type Place =
  | { readonly kind: 'new'; readonly file: string }
  | {
      readonly kind: 'after' | 'before' | 'replace';
      readonly file: string;
      readonly anchor: string;
      /** The last line that is replaced; undefined for one line. */
      readonly last?: string | undefined;
    };

/** A block that the reader pastes into a file, or a line of a terminal. */
export type Step =
  | { readonly guide: string; readonly place: Place; readonly text: string }
  | { readonly guide: string; readonly command: string };

const CODE = '(`+) ?(.+?) ?';
const NEW = new RegExp(`^New file ${CODE}\\1:$`);
const BESIDE = new RegExp(`^In \`([^\`]+)\`, (after|before) ${CODE}\\3:$`);
const REPLACE = new RegExp(`^In \`([^\`]+)\`, replace ${CODE}\\2(?: to (\`+) ?(.+?) ?\\4)? by:$`);

/** Reads the line before a block, such as "In `src/main.ts`, after `const log`:". Undefined for another line. */
export function parsePlace(line: string): Place | undefined {
  const [, , created] = NEW.exec(line) ?? [];
  if (created !== undefined) return { kind: 'new', file: created };
  const [, file, side, , beside] = BESIDE.exec(line) ?? [];
  if (file !== undefined && beside !== undefined)
    return { kind: side === 'after' ? 'after' : 'before', file, anchor: beside };
  const [, changed, , first, , last] = REPLACE.exec(line) ?? [];
  if (changed !== undefined && first !== undefined)
    return { kind: 'replace', file: changed, anchor: first, last };
  return undefined;
}

/** Blocks that show what a reader sees. No reader pastes them into a file. */
const SHOWN = new Set(['', 'json', 'console']);

/**
 * The steps of a guide, in the order of the page.
 * @throws {Error} for a block that the line before it puts nowhere
 */
export function readSteps(guide: string): Step[] {
  return blocksOf(readFileSync(join(ROOT, guide), 'utf8')).flatMap(({ language, before, text }): Step[] => {
    if (language === 'sh') return [{ guide, command: text }];
    const place = parsePlace(before);
    if (place !== undefined) return [{ guide, place, text }];
    if (SHOWN.has(language)) return [];
    throw new Error(
      `${guide}: the line before a block of ${language} says "${before}". Write where the block goes: New file \`path\`: / In \`path\`, after \`part of a line\`: / In \`path\`, replace \`part of a line\` by:`,
    );
  });
}

/** A block that the reader pastes into a file. */
export type Pasted = Extract<Step, { readonly place: Place }>;

/**
 * The text of a file after a reader has pasted a block into the file. `old` is undefined if there is no such file.
 * @throws {Error} if the file, or exactly one line with an anchor, does not exist
 */
export function pasteBlock({ guide, place, text }: Pasted, old: string | undefined): string {
  const reject = (reason: string) =>
    new Error(`${guide} cannot be pasted: ${place.file} ${reason}. Change the guide with the code.`);
  if (place.kind === 'new') {
    if (old !== undefined) throw reject('exists already');
    return text;
  }
  if (old === undefined) throw reject('does not exist');
  const lines = old.split('\n');
  const find = (anchor: string, from = 0): number => {
    const found = lines.flatMap((line, index) => (index >= from && line.includes(anchor) ? [index] : []));
    const [index] = found;
    // The end of a part is the first such line after its beginning. Later lines may look alike.
    if (index !== undefined && (found.length === 1 || from > 0)) return index;
    throw reject(`has ${found.length === 0 ? 'no line' : `${found.length} lines`} with \`${anchor}\``);
  };
  const start = find(place.anchor);
  const added = text.replace(/\n$/, '').split('\n');
  if (place.kind === 'replace') {
    const end = place.last === undefined ? start : find(place.last, start + 1);
    lines.splice(start, end - start + 1, ...added);
  } else lines.splice(place.kind === 'after' ? start + 1 : start, 0, ...added);
  return lines.join('\n');
}

/** The pages that lead a reader through a change, block by block. */
export const findGuides = (): string[] => {
  const recipes = globSync('docs/contributing/recipes/*.md', { cwd: ROOT }).sort();
  // Later recipes find the code of a new type and of a computed field.
  return [
    ...new Set(
      ['type', 'computed-field'].map((name) => `docs/contributing/recipes/${name}.md`).concat(recipes),
    ),
  ];
};
