import { GraphQLError, Lexer, Source, type Token, TokenKind } from 'graphql';
import { withoutStacks } from '../../graphql/without-stacks.ts';

/** What makes a text expensive to parse and validate. Exact for documents. */
export interface TextFigures {
  /** Counting stops once the limit is exceeded. */
  readonly tokens: number;
  readonly aliases: number;
  readonly directives: number;
  /** Length in characters of the longest name of any kind. */
  readonly longestName: number;
  /** Deepest nesting of brackets of any kind. */
  readonly nesting: number;
}

function count(start: Token): TextFigures {
  let [tokens, aliases, directives, longestName] = [0, 0, 0, 0];
  let [nesting, open, parentheses] = [0, 0, 0];
  for (let token = start.next; token !== null; token = token.next) {
    const { kind, value } = token;
    if (kind === TokenKind.COMMENT || kind === TokenKind.EOF) continue;
    tokens += 1;
    if (kind === TokenKind.NAME) longestName = Math.max(longestName, value.length);
    else if (kind === TokenKind.AT) directives += 1;
    // Inside parentheses a colon follows an argument, a variable or an object member.
    else if (kind === TokenKind.COLON) aliases += parentheses === 0 ? 1 : 0;
    else if (kind === TokenKind.PAREN_L || kind === TokenKind.BRACKET_L || kind === TokenKind.BRACE_L) {
      open += 1;
      nesting = Math.max(nesting, open);
      if (kind === TokenKind.PAREN_L) parentheses += 1;
    } else if (kind === TokenKind.PAREN_R || kind === TokenKind.BRACKET_R || kind === TokenKind.BRACE_R) {
      open -= 1;
      if (kind === TokenKind.PAREN_R) parentheses -= 1;
    }
  }
  return { tokens, aliases, directives, longestName, nesting };
}

/**
 * Reads a text with graphql-js' lexer, so that it can be refused before it is parsed: that takes twice as long, and for
 * brackets that never close sixty times. What is no token is left to the parser to reject.
 */
export function readFigures(text: string, maxTokens: number): TextFigures {
  const lexer = new Lexer(new Source(text));
  const start = lexer.token;
  try {
    withoutStacks(() => {
      for (let tokens = 0; tokens <= maxTokens; tokens += 1)
        if (lexer.advance().kind === TokenKind.EOF) return;
    });
  } catch (error) {
    if (!(error instanceof GraphQLError)) throw error;
  }
  return count(start);
}
