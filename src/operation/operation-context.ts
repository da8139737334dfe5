import type { ExecutionArgs } from 'graphql';
import type { Context } from '../graphql/context.ts';
import type { HttpRequest } from '../request/http-message.ts';
import type { RequestState } from '../request/request-state.ts';
import type { PreparedOperation } from './prepared-operation.ts';

/** The context of an operation. */
export interface OperationContext extends Context {
  readonly request: HttpRequest;
  readonly state: RequestState;
  readonly operation: PreparedOperation;
}

/** The arguments of an execution by graphql-js. */
export interface OperationArgs extends ExecutionArgs {
  readonly contextValue: OperationContext;
}
