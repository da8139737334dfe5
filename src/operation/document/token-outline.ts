import { type Token, TokenKind } from 'graphql';

/** What the tokens of a text show of a document. It is known before anything is parsed. */
export interface TokenOutline {
  /** Pairs of fields with one response name and of fragments, each within one selection. */
  readonly pairs: number;
  /** Depth of the only operation with its fragments; 0 for several, NaN for fragments in a circle. */
  readonly depth: number;
}

/** An operation or a fragment, without the fragments that it spreads. */
interface Definition {
  depth: number;
  readonly spreads: { readonly name: string; readonly depth: number }[];
  /** With those; NaN while they are being followed. */
  whole: number | undefined;
}

/** What stands in the braces of a field or a definition, and in inline fragments there. */
interface Selection {
  /** How often each response name stands there. */
  readonly names: Map<string, number>;
  spreads: Set<string> | undefined;
  /** That of its fields. What introspection selects is no depth (contract section 5). */
  readonly depth: number;
  /** The field that the next brace belongs to. */
  field: string;
}

/** The pairs that one more response name makes. */
function addName({ names }: Selection, name: string): number {
  const count = names.get(name) ?? 0;
  names.set(name, count + 1);
  return count;
}

/** The pairs that one more spread makes. */
function addSpread(selection: Selection, name: string): number {
  selection.spreads ??= new Set();
  const { spreads } = selection;
  if (spreads.has(name)) return 0;
  spreads.add(name);
  return spreads.size - 1;
}

function depthOf(definition: Definition, fragments: ReadonlyMap<string, Definition>): number {
  if (definition.whole === undefined) {
    definition.whole = Number.NaN;
    let whole = definition.depth;
    for (const { name, depth } of definition.spreads) {
      const fragment = fragments.get(name);
      if (fragment !== undefined) whole = Math.max(whole, depth + depthOf(fragment, fragments));
    }
    definition.whole = whole;
  }
  return definition.whole;
}

/** Looks at the tokens that follow the first. What is no document has an outline too. */
export function outlineOf(first: Token): TokenOutline {
  const operations: Definition[] = [];
  const fragments = new Map<string, Definition>();
  const around: (Selection | undefined)[] = [];
  let definition: Definition = { depth: 0, spreads: [], whole: undefined };
  let selection: Selection | undefined;
  /** The names in front of the first brace of a definition. */
  let head: string[] = [];
  let pairs = 0;
  let parentheses = 0;
  let isInline = false;
  /** The token before: `on` for one in front of a type. */
  let before: string = TokenKind.SOF;
  for (let token = first.next; token !== null; token = token.next) {
    let kind: string = token.kind;
    if (kind === TokenKind.COMMENT) continue;
    if (kind === TokenKind.PAREN_L) parentheses += 1;
    else if (kind === TokenKind.PAREN_R) parentheses -= 1;
    else if (parentheses !== 0) continue;
    else if (kind === TokenKind.NAME) {
      const { value } = token;
      if (selection === undefined) head.push(value);
      else if (before === TokenKind.SPREAD) {
        if (value === 'on') kind = 'on';
        else {
          isInline = false;
          pairs += addSpread(selection, value);
          definition.spreads.push({ name: value, depth: selection.depth - 1 });
        }
      } else if (before === TokenKind.COLON) selection.field = value;
      else if (before !== TokenKind.AT && before !== 'on') {
        selection.field = value;
        pairs += addName(selection, value);
        if (selection.depth > definition.depth) definition.depth = selection.depth;
      }
    } else if (kind === TokenKind.SPREAD) isInline = true;
    else if (kind === TokenKind.BRACE_R) selection = around.pop();
    else if (kind === TokenKind.BRACE_L) {
      around.push(selection);
      if (selection === undefined) {
        definition = { depth: 0, spreads: [], whole: undefined };
        if (head[0] === 'fragment') fragments.set(head[1] ?? '', definition);
        else operations.push(definition);
        head = [];
        selection = { names: new Map(), spreads: undefined, depth: 1, field: '' };
      } else if (!isInline) {
        const depth = selection.field.startsWith('__') ? Number.NEGATIVE_INFINITY : selection.depth + 1;
        selection = { names: new Map(), spreads: undefined, depth, field: '' };
      }
      isInline = false;
    }
    before = kind;
  }
  const [operation] = operations;
  return {
    pairs,
    depth: operation === undefined || operations.length > 1 ? 0 : depthOf(operation, fragments),
  };
}
