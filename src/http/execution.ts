import type { HttpPlugin } from './request-state.ts';
import type { Runner } from './runner.ts';
import type { Subscriber } from './subscription.ts';

/** Has operations run by the runner, and subscriptions by the subscriber. */
export function useExecution({
  runner,
  subscribe,
}: {
  readonly runner: Runner;
  readonly subscribe: Subscriber;
}): HttpPlugin {
  return {
    onExecute({ setExecuteFn }) {
      setExecuteFn(runner.run);
    },
    onSubscribe({ setSubscribeFn }) {
      setSubscribeFn(subscribe);
    },
  };
}
