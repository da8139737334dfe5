/** What the index reads of a token of markdown-it. */
interface Token {
  readonly type: string;
  readonly tag: string;
  readonly content: string;
  readonly children: readonly Token[] | null;
  attrGet(name: string): string | null;
}

interface Section {
  anchor: string;
  titles: readonly string[];
  text: string;
}

/** Stands between the prose and the code of a section, which are separate fields of the index. */
const CODE_BELOW = '\u0001';

const textOf = ({ children }: Token): string =>
  (children ?? [])
    .map(({ type, content }) => (type === 'text' || type === 'code_inline' ? content : ' '))
    .join('');

/** Splits a page at its headings. Cells of tables are prose, separated by spaces; fenced blocks are code. */
export function splitSections(tokens: readonly Token[]): Section[] {
  const sections: { anchor: string; titles: string[]; prose: string[]; code: string[] }[] = [];
  let titles: string[] = [];
  for (const [index, token] of tokens.entries()) {
    const next = tokens[index + 1];
    const isHeading = tokens[index - 1]?.type === 'heading_open';
    if (token.type === 'heading_open' && next !== undefined) {
      titles = [...titles.slice(0, Number(token.tag.slice(1)) - 1), textOf(next).trim()];
      sections.push({ anchor: token.attrGet('id') ?? '', titles, prose: [], code: [] });
    } else if (token.type === 'inline' && !isHeading) sections.at(-1)?.prose.push(textOf(token));
    else if (token.type === 'fence') sections.at(-1)?.code.push(token.content);
  }
  return sections.map(({ anchor, titles, prose, code }) => ({
    anchor,
    titles,
    text: prose.join(' ') + CODE_BELOW + code.join(' '),
  }));
}

/**
 * The options of MiniSearch. The site sends their functions to the browser as text, so that each function uses nothing
 * outside of itself.
 */
export const MINI_SEARCH = {
  options: {
    fields: ['title', 'titles', 'text', 'code'],
    storeFields: ['title', 'titles'],
    extractField(document: Readonly<Record<string, string | string[]>>, field: string) {
      const [prose, code] = String(document.text ?? '').split('\u0001');
      if (field === 'text') return prose;
      return field === 'code' ? code : document[field];
    },
    // Also at `=` and other symbols, which settings in code have. Names such as COMPLEXITY_LIMIT count as a whole, too.
    tokenize: (text: string) =>
      text
        .split(/[^\p{L}\p{M}\p{N}_]+/u)
        .flatMap((word) => (word.includes('_') ? [word, ...word.split('_')] : word)),
    /** Plurals count as their singulars, too. Words of four letters stay: "cors" is no plural of "cor". */
    processTerm(word: string) {
      const term = word.toLowerCase();
      const common =
        /^(?:a|an|and|are|as|at|be|by|can|change|do|does|for|from|get|how|i|if|in|is|it|my|of|on|or|that|the|this|to|use|want|what|when|which|why|with|you)$/;
      if (common.test(term)) return null;
      return /^\p{L}{4,}(?<!s|u|i)s$/u.test(term) ? [term, term.slice(0, -1)] : term;
    },
  },
  searchOptions: {
    boost: { title: 3, titles: 3, text: 1, code: 0.2 },
    weights: { prefix: 0.3, fuzzy: 0.2 },
    prefix: (term: string) => term.length > 2,
    // Short words have neighbours of another meaning: "cors" and "core".
    fuzzy: (term: string) => (term.length > 6 ? 0.15 : false),
    /** Guides come before long references, and pages for users before pages for contributors. */
    boostDocument(id: string) {
      if (/\/(?:decisions|bench|src|tests|scripts)\/|\/CHANGELOG/.test(id)) return 0.2;
      if (/\/(?:recipes|examples)\/|\/(?:CONTRIBUTING|SECURITY|start|compatibility)\.html/.test(id))
        return 0.4;
      return /\/packages\/|\/(?:api|logging|metrics|errors|security)\.html/.test(id) ? 0.5 : 1;
    },
  },
};
