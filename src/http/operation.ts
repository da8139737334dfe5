import {
  type DocumentNode,
  type ExecutionArgs,
  type FragmentDefinitionNode,
  GraphQLError,
  getOperationAST,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from 'graphql';
import { ApiError } from '../graphql/errors.ts';
import { negotiate } from './accept.ts';
import type { AccountCheck } from './account-check.ts';
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
  readonly needsAccount: AccountCheck;
}

/** The operation that runs, of a document that was admitted; undefined where no name fits. */
export function operationOf({ document, operationName }: ExecutionArgs): OperationDefinitionNode | undefined {
  return document.definitions.find(
    (node): node is OperationDefinitionNode =>
      node.kind === Kind.OPERATION_DEFINITION &&
      (operationName == null || node.name?.value === operationName),
  );
}

/** What there is to decide about an operation before anything of it runs. */
export interface OperationCheck {
  /** The document of a request whose operation may run. Throws what refuses it. */
  admit(context: OperationContext): DocumentNode;
  /** What is wrong with a document that was admitted, or with its variables. */
  validate(context: OperationContext, document: DocumentNode): readonly GraphQLError[];
}

/** Finds the operation of a request and decides whether it may run. */
export function createOperationCheck({
  documents,
  limiter,
  checkOrigin,
  needsAccount,
}: OperationOptions): OperationCheck {
  return {
    admit({ request, state, params }) {
      const open = canExecute(state.caller);
      let document: DocumentNode;
      let operation: OperationDefinitionNode;
      try {
        document = documents.parse(params.query ?? '');
        operation = selectOperation(document, params.operationName ?? undefined);
      } catch (error) {
        throw open ? error : credentialsMissing();
      }
      state.operationKind = operation.operation;
      if (operation.name !== undefined) state.operationName = operation.name.value;
      if (!open && !(documents.introspection && onlyLooksAtSchema(document, operation)))
        throw credentialsMissing();
      const crossSite =
        operation.operation === 'mutation' && state.caller?.kind === 'session'
          ? checkOrigin(request)
          : undefined;
      if (crossSite !== undefined) throw crossSite;
      checkTransport(operation, request);
      const variables = params.variables ?? {};
      const cost = limiter.costOf(document, operation, variables);
      if (request.headers.get('x-query-cost') === '1') state.cost = cost;
      limiter.check(cost);
      if (state.caller?.kind === 'anonymous' && needsAccount({ document, operation, variables }))
        throw credentialsMissing();
      return document;
    },
    validate({ request, state, params }, document) {
      const errors = documents.validate(document, params.query ?? '');
      const operation = selectOperation(document, params.operationName ?? undefined);
      // Under a key that was used before, other variables are that before they are wrong.
      const keyed = operation.operation === 'mutation' && request.headers.has('idempotency-key');
      if (errors.length > 0) return errors;
      state.deprecated = documents.deprecatedIn(document, operation);
      return keyed ? errors : documents.checkVariables(operation, params.variables);
    },
  };
}

/** Has Yoga ask the check. */
export function useOperation(check: OperationCheck): HttpPlugin {
  return {
    onParse({ context, setParsedDocument }) {
      setParsedDocument(check.admit(context as unknown as OperationContext));
    },
    onValidate({ context, params: { documentAST }, setResult }) {
      setResult([...check.validate(context as unknown as OperationContext, documentAST)]);
    },
  };
}
