import { GraphQLError, Lexer, Source, type Token, TokenKind } from 'graphql';
import { exceeded } from '../../graphql/errors.ts';
import type { OperationLimits } from './limits.ts';

/** Contract section 5. Responses and errors repeat names, up to once per row. */
const MAX_NAME_LENGTH = 100;

/**
 * graphql-js' lexer, which counts what it reads and ends the parse of a text that is too large. Throws
 * GRAPHQL_PARSE_FAILED, DEPTH_LIMIT, COMPLEXITY_LIMIT.
 */
export class MeteredLexer extends Lexer {
  readonly #limits: OperationLimits;
  readonly #maxNesting: number;
  #tokens = 0;
  #aliases = 0;
  #directives = 0;
  #brackets = 0;
  #parentheses = 0;
  #nesting = 0;
  #reading = false;

  constructor(text: string, limits: OperationLimits) {
    super(new Source(text));
    this.#limits = limits;
    // Braces come from depth, but also from arguments, inline fragments and introspection, which are no depth.
    this.#maxNesting = 4 * limits.maxDepth + 20;
  }

  override advance(): Token {
    const token = this.#next();
    const { maxAliases, maxDirectives } = this.#limits;
    const isTooMuch =
      this.#aliases > maxAliases || this.#directives > maxDirectives || this.#nesting > this.#maxNesting;
    if (isTooMuch) this.#refuse();
    return token;
  }

  override lookahead(): Token {
    this.#reading = true;
    const token = super.lookahead();
    this.#reading = false;
    return token;
  }

  /** Reads on after a syntax error, so that a text that is also too large is refused for that. */
  checkRest(): void {
    // What is no token would be read once more, which takes long for an endless block string.
    if (this.#reading) return;
    try {
      while (this.advance().kind !== TokenKind.EOF);
    } catch (error) {
      if (!(error instanceof GraphQLError)) throw error;
    }
  }

  #next(): Token {
    const token = super.advance();
    const { kind, value } = token;
    if (kind === TokenKind.EOF) return token;
    this.#tokens += 1;
    if (this.#tokens > this.#limits.maxTokens)
      throw exceeded(
        'GRAPHQL_PARSE_FAILED',
        'A token count of at least',
        this.#tokens,
        this.#limits.maxTokens,
      );
    if (kind === TokenKind.NAME) {
      if (value.length > MAX_NAME_LENGTH)
        throw exceeded('COMPLEXITY_LIMIT', 'Name length', value.length, MAX_NAME_LENGTH);
    } else if (kind === TokenKind.AT) this.#directives += 1;
    // Inside parentheses a colon follows an argument, a variable or an object member.
    else if (kind === TokenKind.COLON) this.#aliases += this.#parentheses === 0 ? 1 : 0;
    else if (kind === TokenKind.PAREN_L) this.#parentheses += 1;
    else if (kind === TokenKind.PAREN_R) this.#parentheses -= 1;
    else if (kind === TokenKind.BRACE_L || kind === TokenKind.BRACKET_L) this.#brackets += 1;
    else if (kind === TokenKind.BRACE_R || kind === TokenKind.BRACKET_R) this.#brackets -= 1;
    this.#nesting = Math.max(this.#nesting, this.#brackets + this.#parentheses);
    return token;
  }

  /** Counts the rest without parsing it: the refusal tells the whole count. */
  #refuse(): never {
    const { maxAliases, maxDirectives } = this.#limits;
    while (this.#next().kind !== TokenKind.EOF);
    if (this.#aliases > maxAliases)
      throw exceeded('COMPLEXITY_LIMIT', 'Alias count', this.#aliases, maxAliases);
    if (this.#directives > maxDirectives)
      throw exceeded('COMPLEXITY_LIMIT', 'Directive count', this.#directives, maxDirectives);
    throw exceeded('DEPTH_LIMIT', 'Bracket nesting depth', this.#nesting, this.#maxNesting);
  }
}
