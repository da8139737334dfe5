import { GraphQLError, type GraphQLSchema, Kind } from 'graphql';
import type { Config } from '../../../platform/config/config.ts';
import { ApiError } from '../../../platform/errors.ts';
import { createDocumentCache } from '../document-cache.ts';
import { createOperationLimiter, rejectForCaller } from '../limits.ts';
import type { PreparedDocument, PreparedOperation } from '../prepared-operation.ts';

type DocumentCheckResult = { readonly document: PreparedDocument } | { readonly reason: string };

const NUL = '\u0000';

/** Returns the smallest values that a client can send for variables that size something. */
function leastVariables({ node, document }: PreparedOperation): Record<string, unknown> {
  const sizes = new Set(
    document.analysis.costVariables.filter((name) => !document.analysis.conditions.includes(name)),
  );
  return Object.fromEntries(
    (node.variableDefinitions ?? []).flatMap(({ variable, type, defaultValue }) => {
      if (defaultValue !== undefined || !sizes.has(variable.name.value)) return [];
      const given = type.kind === Kind.NON_NULL_TYPE ? type.type : type;
      return [[variable.name.value, given.kind === Kind.LIST_TYPE ? [] : 0]];
    }),
  );
}

function formatError({ message, locations = [] }: GraphQLError): string {
  const [place] = locations;
  return place === undefined ? message : `${message} (line ${place.line}, column ${place.column})`;
}

/** The message starts with the names of the operations, because authors search for them. */
const named = ({ names }: PreparedDocument, reason: string): string =>
  names === undefined ? reason : `${names}: ${reason}`;

export function createDocumentCheck(
  schema: GraphQLSchema,
  { introspection, operationLimits: limits, maxBodyBytes }: Config,
) {
  const documents = createDocumentCache({ schema, introspection, limits });
  const limiter = createOperationLimiter(schema, limits);

  function checkOperation(operation: PreparedOperation): void {
    const cost = limiter.costOf(operation, leastVariables(operation));
    limiter.check(operation, cost);
    if (operation.kind === 'subscription') rejectForCaller(cost.fields);
  }

  /** @throws the error with which a request would be rejected */
  function rejection(document: PreparedDocument): string | undefined {
    const operations = document.node.definitions.filter(({ kind }) => kind === Kind.OPERATION_DEFINITION);
    if (operations.length === 0) return 'It has no operation.';
    const errors = documents.validate(document);
    if (errors.length > 0) return errors.map(formatError).join(' ');
    for (const operation of document.operations()) checkOperation(operation);
    return undefined;
  }

  return {
    /** Identifies the schema and the rules of the check. */
    schemaId: documents.schemaId(),
    /** The result does not depend on variables. */
    check(text: string): DocumentCheckResult {
      if (Buffer.byteLength(text) > maxBodyBytes)
        return { reason: `It is larger than ${maxBodyBytes} bytes.` };
      if (text.includes(NUL) || !text.isWellFormed())
        return { reason: 'It has characters that are no text.' };
      let document: PreparedDocument | undefined;
      try {
        document = documents.parse(text);
        const reason = rejection(document);
        return reason === undefined ? { document } : { reason: named(document, reason) };
      } catch (error) {
        if (!(error instanceof ApiError || error instanceof GraphQLError)) throw error;
        const reason = error instanceof ApiError ? error.message : formatError(error);
        return { reason: document === undefined ? reason : named(document, reason) };
      }
    },
  };
}

export type DocumentCheck = ReturnType<typeof createDocumentCheck>;
