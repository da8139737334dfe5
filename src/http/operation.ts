import {
  type DocumentNode,
  type FragmentDefinitionNode,
  GraphQLError,
  getOperationAST,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from 'graphql';
import { ApiError } from '../graphql/errors.ts';
import { negotiate } from './accept.ts';
import { canExecute, credentialsMissing } from './authentication.ts';
import type { Documents } from './document.ts';
import type { OperationLimiter } from './operation-limits/cost.ts';
import type { HttpPlugin, OperationContext } from './request-state.ts';
import type { OriginCheck } from './same-origin.ts';

const META_FIELDS = new Set(['__typename', '__schema', '__type']);

/** Whether every root field only looks at the schema. Fragments are followed once each: they may form a circle. */
function onlyLooksAtSchema(document: DocumentNode, operation: OperationDefinitionNode): boolean {
  const fragments = new Map(
    document.definitions
      .filter((node): node is FragmentDefinitionNode => node.kind === Kind.FRAGMENT_DEFINITION)
      .map((node) => [node.name.value, node]),
  );
  const seen = new Set<string>();
  const check = ({ selections }: SelectionSetNode): boolean =>
    selections.every((selection) => {
      if (selection.kind === Kind.FIELD) return META_FIELDS.has(selection.name.value);
      if (selection.kind === Kind.INLINE_FRAGMENT) return check(selection.selectionSet);
      if (seen.has(selection.name.value)) return true;
      seen.add(selection.name.value);
      const fragment = fragments.get(selection.name.value);
      return fragment !== undefined && check(fragment.selectionSet);
    });
  return check(operation.selectionSet);
}

function selectOperation(document: DocumentNode, operationName: string | undefined): OperationDefinitionNode {
  const operation = getOperationAST(document, operationName);
  if (operation != null) return operation;
  const message =
    operationName === undefined
      ? 'The document has several operations, or none: name one of its own with "operationName".'
      : `The document has no operation named "${operationName}".`;
  throw new GraphQLError(message, { extensions: { code: 'GRAPHQL_VALIDATION_FAILED' } });
}

function checkTransport({ operation }: OperationDefinitionNode, request: Request): void {
  if (operation === 'mutation' && request.method !== 'POST') {
    throw new ApiError('BAD_REQUEST', 'A mutation takes POST.', { status: 405, headers: { allow: 'POST' } });
  }
  const mediaType = negotiate(request.headers.get('accept'));
  if (operation === 'subscription' ? mediaType !== 'text/event-stream' : mediaType === undefined) {
    const needed =
      operation === 'subscription'
        ? 'text/event-stream'
        : 'application/graphql-response+json or application/json';
    throw new ApiError('BAD_REQUEST', `A ${operation} is answered as ${needed}: say so in Accept.`, {
      status: 406,
    });
  }
}

export interface OperationOptions {
  readonly documents: Documents;
  readonly limiter: OperationLimiter;
  readonly checkOrigin: OriginCheck;
}

/** Finds the operation of a request and decides, before anything of it runs, whether it may. */
export function useOperation({ documents, limiter, checkOrigin }: OperationOptions): HttpPlugin {
  return {
    onParse({ context, params, setParsedDocument }) {
      const { request, state, params: request_ } = context as unknown as OperationContext;
      const open = canExecute(state.caller);
      let document: DocumentNode;
      let operation: OperationDefinitionNode;
      try {
        document = documents.parse(String(params.source));
        operation = selectOperation(document, request_.operationName ?? undefined);
      } catch (error) {
        throw open ? error : credentialsMissing();
      }
      state.operationKind = operation.operation;
      if (operation.name !== undefined) state.operationName = operation.name.value;
      const free = documents.introspection && onlyLooksAtSchema(document, operation);
      if (!open && !free) throw credentialsMissing();
      const crossSite =
        operation.operation === 'mutation' && state.caller?.kind === 'session'
          ? checkOrigin(request)
          : undefined;
      if (crossSite !== undefined) throw crossSite;
      checkTransport(operation, request);
      const cost = limiter.check(document, operation, request_.variables ?? {});
      if (request.headers.get('x-query-cost') === '1') state.cost = cost;
      setParsedDocument(document);
    },
    onValidate({ context, params, setResult }) {
      const { params: request_ } = context as unknown as OperationContext;
      setResult([...documents.validate(params.documentAST, request_.query ?? '')]);
    },
  };
}
