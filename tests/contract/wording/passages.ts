import { parseSync } from 'vite';

/** A piece of prose or a name, with the line on which it starts. */
export interface Passage {
  readonly kind: 'docs' | 'comments' | 'messages' | 'names' | 'cells';
  readonly line: number;
  readonly text: string;
}

const blank = (text: string) => text.replaceAll(/[^\n]/g, ' ');

/** The paragraphs, list items and table cells of a Markdown page, without code and without the targets of links. */
export function findDocsPassages(page: string): Passage[] {
  const prose = page
    .replaceAll(/^( *)```[\s\S]*?^\1```$/gm, blank)
    .replaceAll(/<!--[\s\S]*?-->/g, blank)
    .replaceAll(/(`+)(?!`).*?[^`]\1(?!`)/g, 'code')
    .replaceAll(/\]\([^()\s]*\)/g, ']');
  return prose.split('\n').flatMap((text, index): Passage[] => {
    const line = index + 1;
    if (text.trim() === '' || /^\s*\|[\s|:-]+$/.test(text)) return [];
    if (!text.startsWith('|')) return [{ kind: 'docs', line, text }];
    return text
      .split('|')
      .filter((cell) => cell.trim() !== '')
      .map((cell) => ({ kind: 'cells', line, text: cell }));
  });
}

interface SyntaxNode {
  readonly type: string;
  readonly start: number;
}

const isNode = (value: unknown): value is SyntaxNode =>
  typeof value === 'object' && value !== null && 'type' in value && 'start' in value;

function* findNodes(node: SyntaxNode): Generator<SyntaxNode> {
  yield node;
  for (const value of Object.values(node))
    for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) yield* findNodes(child);
}

/** Strings with two spaces are sentences, unless they are SQL, markup or a list of codes. */
const isSentence = (text: string) =>
  /[A-Za-z]+ [a-z]+ \S/.test(text) &&
  !text.includes('redis.call') &&
  !/\b(?:SELECT|FROM|WHERE|UPDATE|INSERT|DELETE|CREATE|SET|AND)\b/.test(text);

const DECLARES = new Set([
  'FunctionDeclaration',
  'ClassDeclaration',
  'TSTypeAliasDeclaration',
  'TSInterfaceDeclaration',
  'VariableDeclarator',
]);

function toWords(name: string): string {
  return name
    .replaceAll(/([a-z\d])([A-Z])/g, '$1 $2')
    .replaceAll(/[_-]/g, ' ')
    .toLowerCase();
}

/** The comments, messages and declared names of a TypeScript file. */
export function findSourcePassages(path: string, source: string): Passage[] {
  const { program, comments } = parseSync(path, source);
  const lineOf = (offset: number) => source.slice(0, offset).split('\n').length;
  const passages: Passage[] = comments.map(({ value, start }) => ({
    kind: 'comments',
    line: lineOf(start),
    text: value
      .replaceAll(/\n\s*\*/g, '')
      .replace(/@example[\s\S]*/, '')
      .replace(/^\*/, '')
      .replaceAll(/`[^`]*`/g, 'code')
      .replaceAll(/ (@[a-z]+)/g, '. $1')
      .trim(),
  }));
  for (const node of findNodes(program)) {
    const line = () => lineOf(node.start);
    if (node.type === 'ImportDeclaration') continue;
    if ('value' in node) {
      const text = isNode(node) && node.type === 'Literal' ? node.value : undefined;
      const cooked = node.type === 'TemplateElement' ? (node.value as { readonly raw: string }).raw : text;
      if (typeof cooked === 'string' && isSentence(cooked))
        passages.push({ kind: 'messages', line: line(), text: cooked });
    }
    if (DECLARES.has(node.type) && 'id' in node && isNode(node.id) && 'name' in node.id)
      passages.push({ kind: 'names', line: line(), text: toWords(String(node.id.name)) });
  }
  return passages;
}
