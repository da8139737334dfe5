import { createSourceEventStream } from 'graphql';
import { ApiError } from '../../graphql/errors.ts';
import { EventReader } from '../../graphql/event-reader.ts';
import type { Logger } from '../../platform/log.ts';
import type { OperationArgs } from '../operation-context.ts';
import { executed, type Single } from '../outcome.ts';
import type { PreparedOperation } from '../prepared-operation.ts';

/** Throws BAD_REQUEST for what is no subscription: stream tokens open nothing else. */
export function requireSubscription(kind: PreparedOperation['kind']): void {
  if (kind !== 'subscription')
    throw new ApiError('BAD_REQUEST', 'Stream tokens are for subscriptions only.', { status: 400 });
}

/** What a valid subscription would be refused with if it were started; undefined if it would start. */
export async function refusalOf(args: OperationArgs, log: Logger): Promise<Single | undefined> {
  const { requestId } = args.contextValue;
  const source = await createSourceEventStream(args);
  if (source instanceof EventReader) return undefined;
  if (Symbol.asyncIterator in source) throw new Error('a subscription field returned no event reader');
  return executed(source, { requestId, log });
}
