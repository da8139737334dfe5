import { useMutation } from '@tanstack/react-query';
import type { TadaDocumentNode } from 'gql.tada';
import { useRef } from 'react';
import { RequestFailed } from '../gql-tada/api.ts';
import { useConnection } from './live-provider.tsx';
import type { Change } from './operations.ts';

/** The code of an error that the service has answered, such as `CONFLICT`. */
export function codeOf(error: Error | null): string | undefined {
  return error instanceof RequestFailed ? error.errors[0]?.extensions.code : undefined;
}

/**
 * A mutation that takes effect once for what is sent, however often: all attempts at the same variables have the same
 * `Idempotency-Key`, until the service has answered. `show` shows a change at once, unless the answer may be older than
 * what the stream has told: a replayed one is.
 */
export function useOnce<Data, Variables extends Record<string, unknown>>(
  document: TadaDocumentNode<Data, Variables>,
  onDone: (data: Data, show: (change: Change) => void) => void,
) {
  const { api, ownChange } = useConnection();
  const task = useRef({ text: '', key: '' });
  const forget = () => {
    task.current = { text: '', key: '' };
  };
  const mutation = useMutation({
    async mutationFn(variables: Variables) {
      const text = JSON.stringify(variables);
      if (task.current.text !== text) task.current = { text, key: crypto.randomUUID() };
      const show = ownChange();
      try {
        const { data, replayed } = await api.mutate(document, variables, task.current.key);
        return { data, show: replayed ? () => undefined : show };
      } catch (error) {
        if (error instanceof RequestFailed) throw error;
        throw new Error('The service does not answer. Try again: it is done once.', { cause: error });
      }
    },
    onSuccess({ data, show }) {
      forget();
      onDone(data, show);
    },
    onError(error) {
      // Without an answer it is unknown whether it ran, also where the session has ended meanwhile.
      const code = codeOf(error);
      if (code !== undefined && code !== 'UNAUTHENTICATED') forget();
    },
  });
  /** What is sent next is another task, even if it is the same. */
  return { ...mutation, forget };
}
