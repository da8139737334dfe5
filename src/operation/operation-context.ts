import type { ExecutionArgs } from 'graphql';
import type { Context } from '../graphql/context.ts';
import type { HttpRequest } from '../request/http-message.ts';
import type { RequestState } from '../request/request-state.ts';
import type { PreparedOperation } from './prepared-operation.ts';

/** What an operation runs with. */
export interface OperationContext extends Context {
  readonly request: HttpRequest;
  readonly state: RequestState;
  readonly operation: PreparedOperation;
}

/** What graphql-js executes. */
export interface OperationArgs extends ExecutionArgs {
  readonly contextValue: OperationContext;
}
