import type { ExecutionArgs, ExecutionResult, GraphQLSchema } from 'graphql';
import type { GraphQLParams } from 'graphql-yoga';
import type { Context } from '../graphql/context.ts';
import type { OperationCheck } from './operation.ts';
import type { OperationContext, ServerContext } from './request-state.ts';

export interface EngineOptions {
  readonly schema: GraphQLSchema;
  readonly check: OperationCheck;
  readonly contextOf: (initial: OperationContext) => Context;
  readonly execute: (args: ExecutionArgs) => Promise<ExecutionResult>;
}

/** Takes a query or mutation from its parameters to its result. Throws what refuses it. */
export type Engine = (
  params: GraphQLParams,
  request: Request,
  serverContext: ServerContext,
) => Promise<ExecutionResult>;

/**
 * The steps of Yoga's engine, with the same functions and without its hooks, which cost more than a short query.
 * There are no subscriptions here: the check refuses them to requests that don't want an event stream.
 */
export function createEngine({ schema, check, contextOf, execute }: EngineOptions): Engine {
  return async (params, request, { state }) => {
    const initial = { request, params, state } as OperationContext;
    const document = check.admit(initial);
    const errors = check.validate(initial, document);
    if (errors.length > 0) return { errors };
    const context = contextOf(initial);
    context.onPath('fast_path');
    return execute({
      schema,
      document,
      contextValue: { ...initial, ...context },
      variableValues: params.variables ?? null,
      operationName: params.operationName ?? null,
    });
  };
}
