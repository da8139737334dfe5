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
import { ApiError } from '../graphql/errors.ts';

/** Enough to mend a document by; each costs time and a line of the answer. */
const MAX_ERRORS = 10;
const MAX_CACHED = 1_000;
const MAX_CACHED_CHARACTERS = 8_000_000;

export interface DocumentsOptions {
  readonly schema: GraphQLSchema;
  readonly introspection: boolean;
  readonly maxTokens: number;
}

function parseDocument(query: string, maxTokens: number): DocumentNode {
  try {
    return parse(query, { maxTokens });
  } catch (error) {
    if (!(error instanceof GraphQLError)) throw error;
    if (error.message.includes('Parsing aborted')) {
      const message = `The document has more than ${maxTokens} tokens, the most that are taken.`;
      throw new ApiError('GRAPHQL_PARSE_FAILED', message, { details: { maximum: maxTokens } });
    }
    const { message, nodes, source, positions } = error;
    throw new GraphQLError(message, {
      nodes: nodes ?? null,
      source: source ?? null,
      positions: positions ?? null,
      extensions: { code: 'GRAPHQL_PARSE_FAILED' },
    });
  }
}

/**
 * Parses documents and validates them, each text once while it stays in a bounded cache. Two steps, since whether a
 * caller needs credentials shows between them. Throws GraphQLError and ApiError with GRAPHQL_PARSE_FAILED.
 */
export function createDocuments({ schema, introspection, maxTokens }: DocumentsOptions) {
  const rules = introspection ? specifiedRules : [...specifiedRules, NoSchemaIntrospectionCustomRule];
  const documents = new LRUCache<string, DocumentNode>({
    max: MAX_CACHED,
    maxSize: MAX_CACHED_CHARACTERS,
    sizeCalculation: (_document, query) => query.length + 1,
  });
  const verdicts = new WeakMap<DocumentNode, readonly GraphQLError[]>();
  return {
    introspection,
    parse(query: string): DocumentNode {
      let document = documents.get(query);
      if (document === undefined) {
        document = parseDocument(query, maxTokens);
        documents.set(query, document);
      }
      return document;
    },
    validate(document: DocumentNode): readonly GraphQLError[] {
      let errors = verdicts.get(document);
      if (errors === undefined) {
        errors = validate(schema, document, rules, {
          maxErrors: MAX_ERRORS,
          hideSuggestions: !introspection,
        }).map(withCode);
        verdicts.set(document, errors);
      }
      return errors;
    },
  };
}

export type Documents = ReturnType<typeof createDocuments>;

function withCode({ message, nodes, source, positions }: GraphQLError): GraphQLError {
  return new GraphQLError(message, {
    nodes: nodes ?? null,
    source: source ?? null,
    positions: positions ?? null,
    extensions: { code: 'GRAPHQL_VALIDATION_FAILED' },
  });
}
