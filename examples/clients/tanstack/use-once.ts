import { useMutation } from '@tanstack/react-query';
import type { TadaDocumentNode } from 'gql.tada';
import { useState } from 'react';
import { TaskKey } from '../../retry.ts';
import { RequestFailed } from '../gql-tada/api.ts';
import { useConnection } from './live-provider.tsx';
import type { Change } from './operations.ts';

/** The code of an error that the service has answered, such as `CONFLICT`. */
export function codeOf(error: Error | null): string | undefined {
  return error instanceof RequestFailed ? error.errors[0]?.extensions?.code : undefined;
}

/**
 * A mutation that takes effect once for what is sent, however often: all attempts at the same variables have the same
 * `Idempotency-Key`, until a response has `data`. `show` shows a change at once, unless the answer may be older than
 * what the stream has told: a replayed one is.
 */
export function useOnce<Data, Variables extends Record<string, unknown>>(
  document: TadaDocumentNode<Data, Variables>,
  onDone: (data: Data, show: (change: Change) => void) => void,
) {
  const { api, optimisticChange } = useConnection();
  const [key] = useState(() => new TaskKey());
  const mutation = useMutation({
    async mutationFn(variables: Variables) {
      const show = optimisticChange();
      try {
        const { data, replayed } = await api.mutate(document, variables, key);
        return { data, show: replayed ? () => undefined : show };
      } catch (error) {
        if (error instanceof RequestFailed) throw error;
        throw new Error('The service does not answer. Try again: it is done once.', { cause: error });
      }
    },
    onSuccess: ({ data, show }) => onDone(data, show),
  });
  /** What is sent next is another task, even if it is the same. */
  return { ...mutation, forget: () => key.discard() };
}
