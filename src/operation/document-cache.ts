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
import { withoutStacks } from '../graphql/without-stacks.ts';
import { createDeprecations } from './deprecations.ts';
import { checkText, type OperationLimits } from './limits/limits.ts';
import { scanText } from './limits/token-scan.ts';
import { PreparedDocument, type PreparedOperation } from './prepared-operation.ts';
import { subscriptionConditions } from './root-conditions-rule.ts';
import { type Variables, variableErrors } from './variables.ts';

/** Enough to mend a document by; each costs time and a line of the answer. */
const MAX_ERRORS = 5;
const MAX_CACHED = 1_000;
/** A token with what hangs on it takes a few hundred bytes, and its text must not be what fills the memory either. */
const MAX_CACHED_TOKENS = 100_000;
const MAX_CACHED_TEXT_LENGTH = 10_000;

export interface DocumentCacheOptions {
  readonly schema: GraphQLSchema;
  readonly introspection: boolean;
  readonly limits: OperationLimits;
}

function parseDocument(query: string, maxTokens: number): DocumentNode {
  try {
    return withoutStacks(() => parse(query, { maxTokens }));
  } catch (error) {
    if (!(error instanceof GraphQLError)) throw error;
    Object.assign(error.extensions, { code: 'GRAPHQL_PARSE_FAILED' });
    throw error;
  }
}

/**
 * Parses documents and validates them, each text once while it stays in a bounded cache. Only what is valid gets in:
 * texts made up to be refused drive nothing out. Two steps, since whether a caller needs credentials shows between
 * them.
 */
export function createDocumentCache({ schema, introspection, limits }: DocumentCacheOptions) {
  const rules = introspection ? specifiedRules : [...specifiedRules, NoSchemaIntrospectionCustomRule];
  const valid = new LRUCache<string, PreparedDocument>({
    max: MAX_CACHED,
    maxSize: MAX_CACHED_TOKENS,
    sizeCalculation: ({ node: { tokenCount = limits.maxTokens } }) => tokenCount + 1,
  });
  const findDeprecated = createDeprecations(schema);
  return {
    introspection,
    /** Throws GRAPHQL_PARSE_FAILED and, for what a look at the text shows, DEPTH_LIMIT and COMPLEXITY_LIMIT. */
    parse(query: string): PreparedDocument {
      const known = query.length > MAX_CACHED_TEXT_LENGTH ? undefined : valid.get(query);
      if (known !== undefined) return known;
      checkText(query, scanText(query, limits.maxTokens), limits);
      return new PreparedDocument(parseDocument(query, limits.maxTokens), query);
    },
    /** The errors of a document, none where it is valid. */
    validate(document: PreparedDocument): readonly GraphQLError[] {
      if (document.valid) return [];
      const { node, text } = document;
      const options = { maxErrors: MAX_ERRORS, hideSuggestions: !introspection };
      const errors = withoutStacks(() => {
        const conditions = subscriptionConditions(node);
        return conditions.length > 0 ? conditions : validate(schema, node, rules, options);
      });
      for (const { extensions } of errors) Object.assign(extensions, { code: 'GRAPHQL_VALIDATION_FAILED' });
      if (errors.length > 0) return errors;
      document.valid = true;
      if (text.length <= MAX_CACHED_TEXT_LENGTH) valid.set(text, document);
      return errors;
    },
    /** The errors of variables that don't fit the operation of a valid document, none where they do. */
    checkVariables: ({ node }: PreparedOperation, given?: Variables): readonly GraphQLError[] =>
      variableErrors(schema, node, given),
    /** The deprecated elements of the schema that an operation of a valid document uses. */
    deprecatedIn(operation: PreparedOperation): readonly string[] {
      operation.deprecated ??= findDeprecated(operation.document.node, operation.node);
      return operation.deprecated;
    },
  };
}

export type DocumentCache = ReturnType<typeof createDocumentCache>;
