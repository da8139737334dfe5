import { GraphQLError, Lexer, Source, Token, TokenKind } from 'graphql';
import { exceeded } from '../../graphql/errors.ts';
import { checkPairs, type OperationLimits } from './limits.ts';
import { pairsOf } from './overlaps.ts';
import { pairsInTokens } from './token-pairs.ts';

/** Contract section 5. Responses and errors repeat names, up to once per row. */
const MAX_NAME_LENGTH = 100;

/** What the rest of a text that is refused is counted by (GraphQL section 2.1). The lexer reads all other characters. */
const IGNORED = 1;
const PUNCTUATOR = 2;
const LETTER = 3;
const DIGIT = 4;

const CHARACTERS = new Uint8Array(128);
for (const [kind, characters] of [
  [IGNORED, ' ,\t\n\r'],
  [PUNCTUATOR, '!$&():=@[]{|}'],
  [LETTER, '_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'],
  [DIGIT, '0123456789'],
] as const)
  for (const character of characters) CHARACTERS[character.charCodeAt(0)] = kind;
const PUNCTUATORS = Array.from(CHARACTERS, (kind, code) =>
  kind === PUNCTUATOR ? String.fromCharCode(code) : '',
);

function kindAt(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return code < CHARACTERS.length ? (CHARACTERS[code] ?? 0) : 0;
}

/**
 * graphql-js' lexer, which reads all tokens and counts them before the parser takes the first: a text that is too large
 * is refused before anything is made of it.
 */
export class MeteredLexer extends Lexer {
  readonly #limits: OperationLimits;
  readonly #maxNesting: number;
  #tokens = 0;
  #names = 0;
  #aliases = 0;
  #directives = 0;
  #brackets = 0;
  #parentheses = 0;
  #nesting = 0;
  /** The last token, if what follows it is none, and the error that says so. */
  #last: Token | undefined;
  #noToken: GraphQLError | undefined;

  constructor(text: string, limits: OperationLimits) {
    super(new Source(text));
    this.#limits = limits;
    // Braces come from depth, but also from arguments, inline fragments and introspection, which are no depth.
    this.#maxNesting = 4 * limits.maxDepth + 20;
  }

  /** Reads the text once, for the parser too. Throws GRAPHQL_PARSE_FAILED, DEPTH_LIMIT, COMPLEXITY_LIMIT. */
  readAll(): void {
    const start = this.token;
    try {
      for (;;) {
        const token = super.lookahead();
        if (token.kind === TokenKind.EOF) break;
        this.token = token;
        if (token.kind === TokenKind.NAME) this.#countName(token.value.length);
        else {
          this.#count(token.kind);
          if (this.#isTooMuch()) this.#refuse(token.end);
        }
      }
      // Only a text with names enough can have as many pairs.
      if (pairsOf(this.#names) > this.#limits.maxFieldPairs) checkPairs(pairsInTokens(start), this.#limits);
    } catch (error) {
      if (!(error instanceof GraphQLError)) throw error;
      // The parser may find a token in the wrong place before it comes here.
      this.#last = this.token;
      this.#noToken = error;
    }
    this.token = start;
  }

  /** What is no token is not read twice: that takes long for an endless block string. */
  override lookahead(): Token {
    if (this.#noToken !== undefined && this.token === this.#last) throw this.#noToken;
    return super.lookahead();
  }

  #countToken(): void {
    this.#tokens += 1;
    const { maxTokens } = this.#limits;
    if (this.#tokens > maxTokens)
      throw exceeded('GRAPHQL_PARSE_FAILED', 'A token count of at least', this.#tokens, maxTokens);
  }

  #countName(length: number): void {
    this.#countToken();
    if (length > MAX_NAME_LENGTH) throw exceeded('COMPLEXITY_LIMIT', 'Name length', length, MAX_NAME_LENGTH);
    if (this.#parentheses === 0) this.#names += 1;
  }

  /** Counts a token that is no name. */
  #count(kind: string): void {
    this.#countToken();
    switch (kind) {
      case TokenKind.PAREN_L:
        this.#parentheses += 1;
        this.#open();
        break;
      case TokenKind.BRACE_L:
      case TokenKind.BRACKET_L:
        this.#open();
        break;
      case TokenKind.PAREN_R:
        this.#parentheses -= 1;
        this.#brackets -= 1;
        break;
      case TokenKind.BRACE_R:
      case TokenKind.BRACKET_R:
        this.#brackets -= 1;
        break;
      case TokenKind.AT:
        this.#directives += 1;
        break;
      case TokenKind.COLON:
        // Inside parentheses it follows an argument, a variable or an object member.
        if (this.#parentheses === 0) this.#aliases += 1;
        break;
    }
  }

  #open(): void {
    this.#brackets += 1;
    if (this.#brackets > this.#nesting) this.#nesting = this.#brackets;
  }

  #isTooMuch(): boolean {
    const { maxAliases, maxDirectives } = this.#limits;
    return this.#aliases > maxAliases || this.#directives > maxDirectives || this.#nesting > this.#maxNesting;
  }

  /** Refuses the text, with the counts of all of it, or of what comes before what is no token. */
  #refuse(at: number): never {
    try {
      this.#countFrom(at);
    } catch (error) {
      if (!(error instanceof GraphQLError)) throw error;
    }
    const { maxAliases, maxDirectives } = this.#limits;
    if (this.#aliases > maxAliases)
      throw exceeded('COMPLEXITY_LIMIT', 'Alias count', this.#aliases, maxAliases);
    if (this.#directives > maxDirectives)
      throw exceeded('COMPLEXITY_LIMIT', 'Directive count', this.#directives, maxDirectives);
    throw exceeded('DEPTH_LIMIT', 'Bracket nesting depth', this.#nesting, this.#maxNesting);
  }

  /** Counts what nobody will parse. Making tokens takes several times as long. */
  #countFrom(start: number): void {
    const { body } = this.source;
    let at = start;
    while (at < body.length) {
      const kind = kindAt(body, at);
      const first = at;
      at += 1;
      if (kind === IGNORED) continue;
      if (kind === LETTER) {
        while (at < body.length && kindAt(body, at) >= LETTER) at += 1;
        this.#countName(at - first);
      } else if (kind === PUNCTUATOR) this.#count(PUNCTUATORS[body.charCodeAt(first)] ?? '');
      else {
        this.token = new Token(TokenKind.SOF, first, first, 0, 0);
        const token = this.lookahead();
        if (token.kind === TokenKind.EOF) return;
        // It may be a name behind a comment.
        if (token.kind === TokenKind.NAME) this.#countName(token.value.length);
        else this.#count(token.kind);
        at = token.end;
      }
    }
  }
}
