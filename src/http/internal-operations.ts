import type { GraphQLSchema } from 'graphql';
import { createDocumentCache } from '../engine/documents/document-cache.ts';
import type { PreparedDocument } from '../engine/documents/prepared-operation.ts';
import { errorsOf, serializeResponse } from '../engine/operation/outcome.ts';
import { loadConfig } from '../platform/config/config.ts';
import type { AdmittedRequest } from './exchange.ts';
import type { Pipeline } from './graphql.ts';

/** Pages run the API's operations, with the same rules, locks and audit entries. */
export function createInternalOperations(schema: GraphQLSchema, pipeline: Pick<Pipeline, 'executeInternal'>) {
  // Operators set limits for the documents of clients only.
  const { operationLimits: limits, introspection } = loadConfig({});
  const documents = createDocumentCache({ schema, introspection, limits });
  const prepared = new Map<string, PreparedDocument>();

  function documentOf(text: string): PreparedDocument {
    const document = prepared.get(text) ?? documents.parseChecked(text);
    prepared.set(text, document);
    return document;
  }

  return {
    /** False if the feature that defines the field is missing. */
    offers(typeName: string, field: string): boolean {
      const type = schema.getType(typeName);
      return type !== undefined && 'getFields' in type && field in type.getFields();
    },
    /**
     * Runs a query or a mutation for the caller of the request.
     * @returns the data, of the type that the document selects, and header fields for the page's response
     * @throws the first error, masked, which `toErrorResponse` reads
     */
    async run<Data extends object>(
      document: string,
      variables: Readonly<Record<string, unknown>>,
      admitted: AdmittedRequest,
    ): Promise<{ readonly data: Data; readonly headers: Readonly<Record<string, string>> }> {
      const { outcome, effects } = await pipeline.executeInternal(documentOf(document), variables, admitted);
      if (outcome.kind === 'stream' || outcome.kind === 'unresumable')
        throw new Error('a page opens no stream');
      const [error] = errorsOf(outcome);
      if (error !== undefined) throw error;
      // The database may have written the response as a string, so every response is read as a string.
      const { data }: { readonly data: Data } = JSON.parse(serializeResponse(outcome, { limits: NO_LIMITS }));
      return { data, headers: effects?.headers ?? {} };
    },
  };
}

/** No page asks for the cost. */
const NO_LIMITS = { maxDepth: 0, maxComplexity: 0 };

export type InternalOperations = ReturnType<typeof createInternalOperations>;
