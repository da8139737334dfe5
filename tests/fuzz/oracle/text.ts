import {
  type DocumentNode,
  GraphQLError,
  Kind,
  Lexer,
  type OperationDefinitionNode,
  parse,
  Source,
  TokenKind,
  visit,
} from 'graphql';
import { MAX, MAX_NAME, MAX_TOKENS } from './limits.ts';

/** What a document is before it means anything. */
export interface ReadText {
  /** Undefined where it is no document. */
  readonly document: DocumentNode | undefined;
  readonly tooManyTokens: boolean;
  readonly tooLongName: boolean;
  /** The limits that what cannot be parsed may be taken to go past. */
  readonly perhaps: readonly string[];
}

const OPENING: readonly string[] = [TokenKind.BRACE_L, TokenKind.BRACKET_L, TokenKind.PAREN_L];
const CLOSING: readonly string[] = [TokenKind.BRACE_R, TokenKind.BRACKET_R, TokenKind.PAREN_R];

/** Variables are told from what every object of JavaScript has by their first letter. */
const OWN = 'v_';

export const ownNames = (inputs: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(inputs).map(([name, value]) => [`${OWN}${name}`, value]));

/** The variable that an error of graphql-js is about, as the client calls it. */
export const wrongVariable = (message: string): string | undefined =>
  /^Variable "\$v_(\w+)"/.exec(message)?.[1];

function tokensOf(text: string) {
  const lexer = new Lexer(new Source(text));
  let [tokens, depth, deepest, longest, colons, directives] = [0, 0, 0, 0, 0, 0];
  const names = new Map<string, number>();
  try {
    for (let token = lexer.advance(); token.kind !== TokenKind.EOF; token = lexer.advance()) {
      tokens += 1;
      if (OPENING.includes(token.kind)) depth += 1;
      if (token.kind === TokenKind.COLON) colons += 1;
      if (token.kind === TokenKind.AT) directives += 1;
      if (CLOSING.includes(token.kind)) depth -= 1;
      deepest = Math.max(deepest, depth);
      if (token.kind !== TokenKind.NAME) continue;
      longest = Math.max(longest, token.value.length);
      names.set(token.value, (names.get(token.value) ?? 0) + 1);
    }
  } catch (error) {
    if (!(error instanceof GraphQLError)) throw error;
  }
  const pairs = [...names.values()].reduce((sum, times) => sum + times * times, 0);
  const perhaps = [
    ...(deepest > MAX.depth ? ['DEPTH_LIMIT'] : []),
    ...(colons > MAX.aliases || directives > MAX.directives || pairs > MAX.pairs ? ['COMPLEXITY_LIMIT'] : []),
  ];
  return { tooManyTokens: tokens > MAX_TOKENS, tooLongName: longest > MAX_NAME, perhaps };
}

function parsed(text: string): DocumentNode | undefined {
  try {
    const document = parse(text, { noLocation: true, allowEmptySelectionSets: false });
    return visit(document, {
      Variable: (node) => ({ ...node, name: { ...node.name, value: `${OWN}${node.name.value}` } }),
    });
  } catch (error) {
    if (error instanceof GraphQLError) return undefined;
    throw error;
  }
}

export const readText = (text: string): ReadText => ({ document: parsed(text), ...tokensOf(text) });

/** The operation that is meant; undefined where the request leaves it open, or names one that is not there. */
export function operationOf(
  document: DocumentNode,
  name: string | undefined,
): OperationDefinitionNode | undefined {
  const operations = document.definitions.filter((node) => node.kind === Kind.OPERATION_DEFINITION);
  // An empty name is no name.
  if (name === undefined || name === '') return operations.length === 1 ? operations[0] : undefined;
  return operations.find((node) => node.name?.value === name);
}
