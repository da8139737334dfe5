import { useMutation } from '@tanstack/react-query';
import type { TadaDocumentNode } from 'gql.tada';
import { useRef } from 'react';
import { type Done, RequestFailed } from '../gql-tada/api.ts';
import { useConnection } from './live-provider.tsx';

/** The code of an error that the service has answered, such as `CONFLICT`. */
export function codeOf(error: Error | null): string | undefined {
  return error instanceof RequestFailed ? error.errors[0]?.extensions.code : undefined;
}

/**
 * A mutation that takes effect once for what is sent, however often: all attempts at the same variables have the same
 * `Idempotency-Key`, until the service has answered. A replayed answer may be older than what the stream has told since:
 * it is not to be shown.
 */
export function useOnce<Data, Variables extends Record<string, unknown>>(
  document: TadaDocumentNode<Data, Variables>,
  onDone: (done: Done<Data>) => void,
) {
  const { api } = useConnection();
  const task = useRef({ text: '', key: '' });
  const forget = () => {
    task.current = { text: '', key: '' };
  };
  return useMutation({
    async mutationFn(variables: Variables) {
      const text = JSON.stringify(variables);
      if (task.current.text !== text) task.current = { text, key: crypto.randomUUID() };
      try {
        return await api.mutate(document, variables, task.current.key);
      } catch (error) {
        if (error instanceof RequestFailed) throw error;
        throw new Error('The service does not answer. Try again: it is done once.', { cause: error });
      }
    },
    onSuccess(done: Done<Data>) {
      forget();
      onDone(done);
    },
    onError(error) {
      // Without an answer it is unknown whether it ran, also where the session has ended meanwhile.
      const code = codeOf(error);
      if (code !== undefined && code !== 'UNAUTHENTICATED') forget();
    },
  });
}
