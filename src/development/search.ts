import { DECISIONS } from './groups.ts';
import { type RenderOptions, renderMarkdown } from './markdown.ts';
import type { DocsPage } from './pages.ts';

/** A heading of a page, and the text below it up to the next one. */
export interface Section {
  readonly page: DocsPage;
  /** Empty for the beginning of a page. */
  readonly id: string;
  readonly heading: string;
  readonly text: string;
}

export interface Hits {
  readonly words: readonly string[];
  readonly sections: readonly Section[];
  /** Whether each has all the words. If none does, they are those with the most. */
  readonly complete: boolean;
}

const MAX_HITS = 30;
/** One long page does not hide the others. */
const MAX_OF_PAGE = 5;
const MAX_WORDS = 10;
/** Why something is so is rarely what is looked for first. */
const WEIGHT_OF_DECISIONS = 0.3;

const ENTITIES = new Map([
  ['&amp;', '&'],
  ['&lt;', '<'],
  ['&gt;', '>'],
  ['&quot;', '"'],
  ['&#39;', "'"],
]);

/** The text of our own HTML. */
const textOf = (markup: string): string =>
  markup
    .replaceAll(/<(\/?)(?:code|a|em|strong|span)\b[^>]*>/g, '')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/&(?:amp|lt|gt|quot|#39);/g, (entity) => ENTITIES.get(entity) ?? '')
    .replaceAll(/\s+/g, ' ')
    .trim();

/** From what is shown, so that every anchor is one of the page. */
function sectionsOf(page: DocsPage, options: RenderOptions): Section[] {
  const { html, headings } = renderMarkdown(page.text, options);
  const parts = html.split(/<h[1-6] id="[^"]*">.*<\/h[1-6]>\n/);
  return headings.map(({ id, text, depth }, index) => {
    const place = depth === 1 ? { id: '', heading: page.title } : { id, heading: text };
    return { page, ...place, text: textOf(parts[index + 1] ?? '') };
  });
}

/** The sections of pages as they were read last, by file. */
const known = new Map<string, { readonly text: string; readonly sections: readonly Section[] }>();

function indexOf(pages: readonly DocsPage[]): Section[] {
  const files = new Set(pages.map(({ file }) => file));
  return pages.flatMap((page) => {
    const entry = known.get(page.file);
    if (entry?.text === page.text) return entry.sections;
    const sections = sectionsOf(page, { file: page.file, pages: files, plain: true });
    known.set(page.file, { text: page.text, sections });
    return sections;
  });
}

/** Every section has them. */
const SMALL_WORDS = new Set('a an and do does for how i in is it of on or the to what when with'.split(' '));

/** What is compared: names in code and headers are several words. */
const folded = (text: string): string => text.toLowerCase().replaceAll(/[-_\s]+/g, ' ');

/** A plural, but not a word such as Redis or status: group 1 is what the singular has, too. */
const PLURAL = /^(...+?)(?:ies|(?<![isu])s)$/;
/** What follows it in the whole word. */
const ENDING = /^(?:s|y|ies?)?(?![\p{L}\p{N}])/u;

/** The words of a query, without the endings of plurals: they are looked for at the beginning of words, too. */
export const wordsOf = (query: string): string[] => {
  const words = folded(query).match(/[\p{L}\p{N}]+/gu) ?? [];
  const telling = words.filter((word) => !SMALL_WORDS.has(word));
  const kept = telling.length > 0 ? telling : words;
  const singular = kept.map((word) => PLURAL.exec(word)?.[1] ?? word);
  return [...new Set(singular)].slice(0, MAX_WORDS);
};

/** How well a text has a word: as a whole, at the beginning of one, or inside of one. */
function matchOf(text: string, word: string): number {
  let best = 0;
  for (let at = text.indexOf(word); at >= 0 && best < 1; at = text.indexOf(word, at + 1)) {
    const begins = at === 0 || !/[\p{L}\p{N}]/u.test(text[at - 1] ?? '');
    const ends = ENDING.test(text.slice(at + word.length, at + word.length + 4));
    best = Math.max(best, begins && ends ? 1 : begins ? 0.7 : 0.3);
  }
  return best;
}

interface Scored {
  readonly section: Section;
  /** How many of the words it has. */
  readonly found: number;
  readonly score: number;
}

/** The sections with the words, best first. */
export function search(pages: readonly DocsPage[], query: string): Hits {
  const words = wordsOf(query);
  const sections = indexOf(pages);
  const lower = sections.map(({ page, id, heading, text }) => ({
    // The name of the file is the word by which many look for it.
    title: folded(`${page.title} ${page.path}${id === '' ? ` ${page.summary}` : ''}`),
    heading: folded(heading),
    text: folded(text),
  }));
  const phrase = folded(query).trim();
  // A word that few sections have says more than one that many have.
  const rarity = words.map((word) => {
    const having = lower.filter(({ heading, text }) => heading.includes(word) || text.includes(word)).length;
    return Math.log(1 + sections.length / (1 + having));
  });
  const scored = sections.map((section, index): Scored => {
    const { title, heading, text } = lower[index] ?? { title: '', heading: '', text: '' };
    let score = 0;
    let found = 0;
    for (const [place, word] of words.entries()) {
      const inTitle = matchOf(title, word);
      const inHeading = matchOf(heading, word);
      const inText = matchOf(text, word);
      if (inTitle + inHeading + inText > 0) found += 1;
      // A page is about what is in its title; its beginning says it, more than its last section.
      const ofTitle = inTitle * (section.id === '' ? 6 : 1.5);
      const often = 1 + Math.min(text.split(word).length - 2, 6) * 0.15;
      score += (rarity[place] ?? 0) * (ofTitle + inHeading * 5 + inText * Math.max(1, often));
    }
    // Whoever types the name of a page wants the page.
    if (section.id === '' && folded(section.page.title) === phrase) score *= 3;
    if (words.length > 1) {
      if (heading.includes(phrase) || (section.id === '' && title.includes(phrase))) score *= 2;
      else if (text.includes(phrase)) score *= 1.5;
    }
    return { section, found, score: section.page.group === DECISIONS ? score * WEIGHT_OF_DECISIONS : score };
  });
  const most = Math.max(0, ...scored.map(({ found }) => found));
  const best = scored
    .filter(({ found, score }) => found === most && score > 0)
    .sort((a, b) => b.score - a.score);
  const ofPage = new Map<string, number>();
  const kept = best.filter(({ section: { page } }) => {
    const count = (ofPage.get(page.file) ?? 0) + 1;
    ofPage.set(page.file, count);
    return count <= MAX_OF_PAGE;
  });
  return {
    words,
    sections: kept.slice(0, MAX_HITS).map(({ section }) => section),
    complete: most === words.length,
  };
}
