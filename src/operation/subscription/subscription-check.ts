import { createSourceEventStream, type ExecutionResult, validateSubscriptionArgs } from 'graphql';
import { EventReader } from '../../graphql/context.ts';
import { ApiError } from '../../graphql/errors.ts';
import type { Logger } from '../../platform/log.ts';
import type { OperationArgs } from '../operation-context.ts';
import { executed, type Single } from '../outcome.ts';
import type { PreparedOperation } from '../prepared-operation.ts';

/** Throws BAD_REQUEST for what is no subscription: stream tokens open nothing else. */
export function requireSubscription(kind: PreparedOperation['kind']): void {
  if (kind !== 'subscription')
    throw new ApiError('BAD_REQUEST', 'Stream tokens are for subscriptions only.', { status: 400 });
}

/** Checks the scope of the field and its arguments, and calls its `subscribe` function. */
export async function eventReaderOf(args: OperationArgs): Promise<EventReader | ExecutionResult> {
  const checked = validateSubscriptionArgs(args);
  if (!('schema' in checked)) return { errors: checked };
  const source = await createSourceEventStream(checked);
  if (source instanceof EventReader || !(Symbol.asyncIterator in source)) return source;
  throw new Error('a subscription field returned no event reader');
}

/** What a valid subscription would be refused with if it were started; undefined if it would start. */
export async function refusalOf(args: OperationArgs, log: Logger): Promise<Single | undefined> {
  const { requestId } = args.contextValue;
  const reader = await eventReaderOf(args);
  return reader instanceof EventReader ? undefined : executed(reader, { requestId, log });
}
