import { type Token, TokenKind } from 'graphql';

/** The content of the braces of a field or a definition, inline fragments included. */
interface Selection {
  /** How often each response name occurs. */
  readonly names: Map<string, number>;
  readonly spreads: Set<string>;
}

/** The pairs that one more response name makes. */
function addName({ names }: Selection, name: string): number {
  const count = names.get(name) ?? 0;
  names.set(name, count + 1);
  return count;
}

/** The pairs that one more spread makes. */
function addSpread({ spreads }: Selection, name: string): number {
  if (spreads.has(name)) return 0;
  spreads.add(name);
  return spreads.size - 1;
}

/**
 * The pairs of fields with one response name and of fragments that stand within one selection, among the tokens that
 * follow the first: at least these are in the document (`overlaps.ts`), and more only where fields are merged.
 */
export function pairsInTokens(first: Token): number {
  const around: (Selection | undefined)[] = [];
  let selection: Selection | undefined;
  let pairs = 0;
  let parentheses = 0;
  let isInline = false;
  /** The kind of the token before, or `on` in front of a type. */
  let before: string = TokenKind.SOF;
  for (let token = first.next; token !== null; token = token.next) {
    const { kind, value } = token;
    if (kind === TokenKind.COMMENT) continue;
    const isTypeNext = before === TokenKind.SPREAD && value === 'on';
    if (kind === TokenKind.PAREN_L) parentheses += 1;
    else if (kind === TokenKind.PAREN_R) parentheses -= 1;
    else if (parentheses !== 0) continue;
    else if (kind === TokenKind.SPREAD) isInline = true;
    else if (kind === TokenKind.BRACE_R) selection = around.pop();
    else if (kind === TokenKind.BRACE_L) {
      around.push(selection);
      if (!isInline) selection = { names: new Map(), spreads: new Set() };
      isInline = false;
    } else if (kind === TokenKind.NAME && selection !== undefined && !isTypeNext) {
      if (before === TokenKind.SPREAD) {
        isInline = false;
        pairs += addSpread(selection, value);
      } else if (before !== TokenKind.COLON && before !== TokenKind.AT && before !== 'on')
        pairs += addName(selection, value);
    }
    before = isTypeNext ? 'on' : kind;
  }
  return pairs;
}
