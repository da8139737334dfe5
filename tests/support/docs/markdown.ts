import { anchorOf } from '../../../docs/.vitepress/anchors.ts';

/** A fenced block of a Markdown page. */
export interface Block {
  /** The first word after the fence, such as `sh`. */
  readonly language: string;
  /** The words after the language, which readers do not see. */
  readonly flags: readonly string[];
  readonly text: string;
  /** The last line of prose before it. */
  readonly before: string;
  /** The heading of its section. */
  readonly section: string;
  /** The text of the block that follows without any prose between, if it is JSON or has no language. */
  readonly output: string | undefined;
}

const BLOCK = /^( *)```(\w*)([^\n]*)\n([\s\S]*?)^\1```$/gm;

function lastMatch(text: string, pattern: RegExp): string {
  return [...text.matchAll(pattern)].at(-1)?.[1] ?? '';
}

const dedent = (text: string, indent: string) =>
  indent === '' ? text : text.replaceAll(new RegExp(`^${indent}`, 'gm'), '');

/** The fenced blocks of a page, in order. */
export function blocksOf(page: string): Block[] {
  const found = [...page.matchAll(BLOCK)].map((match) => {
    const [whole, indent = '', language = '', words = '', text = ''] = match;
    const above = page.slice(0, match.index);
    return {
      start: match.index,
      end: match.index + whole.length,
      language,
      flags: words.split(' ').filter((word) => word !== ''),
      text: dedent(text, indent),
      before: lastMatch(above, /^(\S.*)$/gm),
      section: lastMatch(above, /^#+ (.*)$/gm),
    };
  });
  return found.map(({ start, end, ...block }, index) => {
    const next = found[index + 1];
    const follows =
      next !== undefined && ['', 'json'].includes(next.language) && page.slice(end, next.start).trim() === '';
    return { ...block, output: follows ? next.text : undefined };
  });
}

/** The path that the prose before a block gives to its text, as in "`src/main.ts`:". */
export function pathOf({ before }: Block): string | undefined {
  return /`([^`]+\.\w+)`:$/.exec(before)?.[1];
}

const withoutBlocks = (page: string) => page.replaceAll(BLOCK, '');

/** The targets of the links and pictures of a page. */
export function linksOf(page: string): string[] {
  const prose = withoutBlocks(page).replaceAll(/(`+)(?!`).*?[^`]\1(?!`)/g, 'code');
  return [...prose.matchAll(/\]\(([^()\s]+)\)|\b(?:src|srcset|href)="([^"]+)"/g)].map(
    ([, target, attribute]) => target ?? attribute ?? '',
  );
}

/** The anchors that GitHub gives to the headings of a page. The second of two equal ones ends with `-1`. */
export function anchorsOf(page: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, heading = ''] of withoutBlocks(page).matchAll(/^#+ (.*)$/gm)) {
    const anchor = anchorOf(heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1'));
    let unique = anchor;
    for (let count = 1; anchors.has(unique); count += 1) unique = `${anchor}-${count}`;
    anchors.add(unique);
  }
  return anchors;
}
