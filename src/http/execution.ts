import type { ExecutionArgs, ExecutionResult } from 'graphql';
import type { HttpPlugin } from './request-state.ts';
import type { Subscriber } from './subscription.ts';

export interface ExecutionOptions {
  readonly execute: (args: ExecutionArgs) => Promise<ExecutionResult>;
  readonly subscribe: Subscriber;
}

/** Has operations and subscriptions run in this service's way. */
export function useExecution({ execute, subscribe }: ExecutionOptions): HttpPlugin {
  return {
    onExecute({ setExecuteFn }) {
      setExecuteFn(execute);
    },
    onSubscribe({ setSubscribeFn }) {
      setSubscribeFn(subscribe);
    },
  };
}
