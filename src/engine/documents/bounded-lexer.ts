import { Lexer, Source, type Token, TokenKind } from 'graphql';
import { exceeded } from '../../platform/errors.ts';
import type { OperationLimits } from './limits.ts';

/** Names are limited because responses and errors repeat them, up to once per row. */
const MAX_NAME_LENGTH = 100;

/**
 * The parser calls itself for each open bracket, so deep nesting would overflow the stack. The parser's option
 * `maxLexicalTokens` would throw an error without value and limit.
 */
export class BoundedLexer extends Lexer {
  readonly #maxTokens: number;
  readonly #maxNesting: number;
  #tokens = 0;
  #nesting = 0;
  #deepest = 0;

  constructor(text: string, { maxTokens, maxDepth }: OperationLimits) {
    super(new Source(text));
    this.#maxTokens = maxTokens;
    // Arguments, inline fragments and introspection have brackets, too, but do not count as depth.
    this.#maxNesting = 4 * maxDepth + 20;
  }

  /** @throws {ApiError} GRAPHQL_PARSE_FAILED, DEPTH_LIMIT or COMPLEXITY_LIMIT. */
  override advance(): Token {
    let token = this.#next();
    if (this.#deepest <= this.#maxNesting) return token;
    // Reading continues to the end, so that the error has the depth of the whole document.
    while (token.kind !== TokenKind.EOF) token = this.#next();
    throw exceeded('DEPTH_LIMIT', 'Bracket nesting depth', this.#deepest, this.#maxNesting);
  }

  #next(): Token {
    const token = super.advance();
    switch (token.kind) {
      case TokenKind.EOF:
        return token;
      case TokenKind.NAME:
        if (token.value.length > MAX_NAME_LENGTH)
          throw exceeded('COMPLEXITY_LIMIT', 'Name length', token.value.length, MAX_NAME_LENGTH);
        break;
      case TokenKind.BRACE_L:
      case TokenKind.BRACKET_L:
      case TokenKind.PAREN_L:
        this.#nesting += 1;
        this.#deepest = Math.max(this.#deepest, this.#nesting);
        break;
      case TokenKind.BRACE_R:
      case TokenKind.BRACKET_R:
      case TokenKind.PAREN_R:
        this.#nesting -= 1;
    }
    this.#tokens += 1;
    if (this.#tokens > this.#maxTokens)
      throw exceeded('GRAPHQL_PARSE_FAILED', 'A token count of at least', this.#tokens, this.#maxTokens);
    return token;
  }
}
