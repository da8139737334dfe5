import type { TadaDocumentNode } from 'gql.tada';
import type { Changes } from '../../../live.ts';
import { mutate } from '../api/client.ts';
import type { Change } from '../api/operations.ts';
import type { Pause } from '../api/problem.ts';

/** The answer to a mutation of this page. */
export interface OptimisticChange<Data> {
  readonly data: Data;
  /** Shows the change at once, unless the answer may be older than what the stream has told: a replayed one is. */
  readonly show: (change: Change) => void;
}

/** Runs a mutation as `mutate` does. Throws RequestFailed. */
export async function mutateOwn<Data, Variables>(
  changes: Changes<Change>,
  document: TadaDocumentNode<Data, Variables>,
  variables: Variables,
  idempotencyKey: string,
  onPause: (pause: Pause) => void,
): Promise<OptimisticChange<Data>> {
  const show = changes.optimisticChange();
  const { data, replayed } = await mutate(document, variables, idempotencyKey, onPause);
  return { data, show: replayed ? () => undefined : show };
}
