import {
  type DocumentNode,
  GraphQLError,
  type GraphQLSchema,
  NoSchemaIntrospectionCustomRule,
  parse,
  specifiedRules,
  validate,
} from 'graphql';
import { LRUCache } from 'lru-cache';
import { Doorkeeper } from '../../platform/cache.ts';
import { withoutStackTraces } from '../../platform/errors.ts';
import { analyzeDocument } from './analysis.ts';
import { BoundedLexer } from './bounded-lexer.ts';
import { createDeprecations, type DeprecatedElement } from './deprecations.ts';
import { createFastValidator } from './fast-validator/fast-validator.ts';
import { checkCounts, maxFields, type OperationLimits } from './limits.ts';
import { PreparedDocument, type PreparedOperation, schemaIdOf } from './prepared-operation.ts';
import { type OperationVariables, variableErrors } from './variables.ts';

/** Five errors are enough to fix a document; each error costs time and response size. */
const MAX_ERRORS = 5;
const MAX_CACHED = 1_000;
/**
 * A token with its nodes takes a few hundred bytes. The length is bounded, too, because long strings and comments also
 * fill the memory.
 */
const MAX_CACHED_TOKENS = 100_000;
const MAX_CACHED_TEXT_LENGTH = 10_000;

export interface DocumentCacheOptions {
  readonly schema: GraphQLSchema;
  readonly introspection: boolean;
  readonly limits: OperationLimits;
}

function parseDocument(query: string, limits: OperationLimits): DocumentNode {
  const lexer = new BoundedLexer(query, limits);
  return withoutStackTraces(() => {
    try {
      return parse(lexer.source, { lexer, allowEmptySelectionSets: false });
    } catch (error) {
      if (!(error instanceof GraphQLError)) throw error;
      Object.assign(error.extensions, { code: 'GRAPHQL_PARSE_FAILED' });
      throw error;
    }
  });
}

/**
 * Valid documents are cached from their second use on. Invalid documents and documents used once evict nothing and do
 * not survive in memory, where the garbage collection of old objects costs most. Parsing and validation are separate
 * steps, because the caller's right to run the operation is checked in between.
 */
export function createDocumentCache({ schema, introspection, limits }: DocumentCacheOptions) {
  const rules = introspection ? specifiedRules : [...specifiedRules, NoSchemaIntrospectionCustomRule];
  const options = { maxErrors: MAX_ERRORS, hideSuggestions: !introspection };
  /** A rule of graphql-js throws if the root of a subscription has a @defer with wrong arguments. */
  const findErrors = (node: DocumentNode): readonly GraphQLError[] => {
    try {
      return validate(schema, node, rules, options);
    } catch (error) {
      if (error instanceof GraphQLError) return [error];
      throw error;
    }
  };
  const valid = new LRUCache<string, PreparedDocument>({
    max: MAX_CACHED,
    maxSize: MAX_CACHED_TOKENS,
    sizeCalculation: ({ node: { tokenCount = limits.maxTokens } }) => tokenCount + 1,
  });
  const seen = new Doorkeeper();
  const isValid = createFastValidator(schema);
  const findDeprecated = createDeprecations(schema);
  let schemaId: string | undefined;

  function keep(document: PreparedDocument): void {
    const { text } = document;
    document.valid = true;
    if (text.length <= MAX_CACHED_TEXT_LENGTH && seen.see(text)) valid.set(text, document);
  }

  function parse(query: string): PreparedDocument {
    const known = query.length > MAX_CACHED_TEXT_LENGTH ? undefined : valid.get(query);
    if (known !== undefined) return known;
    const node = parseDocument(query, limits);
    const analysis = analyzeDocument(schema, node, maxFields(limits));
    checkCounts(analysis, limits);
    return new PreparedDocument(node, query, analysis);
  }

  return {
    introspection,
    /**
     * @throws {GraphQLError} GRAPHQL_PARSE_FAILED
     * @throws {ApiError} DEPTH_LIMIT or COMPLEXITY_LIMIT for a document that is too large to parse
     */
    parse,
    /** The document must be known to be valid, because validation is skipped. */
    parseChecked(query: string): PreparedDocument {
      const document = parse(query);
      if (!document.valid) keep(document);
      return document;
    },
    /** Identifies the schema and the rules with which documents are checked. */
    schemaId(): string {
      schemaId ??= schemaIdOf(schema, introspection);
      return schemaId;
    },
    validate(document: PreparedDocument): readonly GraphQLError[] {
      if (document.valid) return [];
      const { node, analysis } = document;
      const errors = withoutStackTraces(() => (isValid(node, analysis.fragments) ? [] : findErrors(node)));
      for (const { extensions } of errors) Object.assign(extensions, { code: 'GRAPHQL_VALIDATION_FAILED' });
      if (errors.length > 0) return errors;
      keep(document);
      return errors;
    },
    checkVariables: ({ node }: PreparedOperation, given?: OperationVariables): readonly GraphQLError[] =>
      variableErrors(schema, node, given),
    /** The document must be valid, but the variables may be invalid. */
    deprecatedIn(operation: PreparedOperation, variables?: OperationVariables): readonly DeprecatedElement[] {
      operation.deprecated ??= findDeprecated(operation.document.node, operation.node);
      const { named, inVariables } = operation.deprecated;
      if (inVariables === undefined) return named;
      const found = new Set(named);
      inVariables(variables, found);
      return [...found];
    },
  };
}

export type DocumentCache = ReturnType<typeof createDocumentCache>;
