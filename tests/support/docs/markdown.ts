/** A fenced block of a Markdown page. */
export interface Block {
  /** The word after the fence, such as `sh`. */
  readonly language: string;
  readonly text: string;
  /** The last line of prose before it. */
  readonly before: string;
  /** The heading of its section. */
  readonly section: string;
}

const BLOCK = /^( *)```(\w*)[^\n]*\n([\s\S]*?)^\1```$/gm;

function lastMatch(text: string, pattern: RegExp): string {
  return [...text.matchAll(pattern)].at(-1)?.[1] ?? '';
}

/** The fenced blocks of a page, in order. */
export function blocksOf(page: string): Block[] {
  return [...page.matchAll(BLOCK)].map(({ index, 2: language = '', 3: text = '' }) => {
    const above = page.slice(0, index);
    return {
      language,
      text,
      before: lastMatch(above, /^(\S.*)$/gm),
      section: lastMatch(above, /^#+ (.*)$/gm),
    };
  });
}

/** The path that the prose before a block gives to its text, as in "`src/main.ts`:". */
export function pathOf({ before }: Block): string | undefined {
  return /`([^`]+\.\w+)`:$/.exec(before)?.[1];
}
