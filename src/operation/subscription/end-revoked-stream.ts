import type { Principal } from '../../auth/principal.ts';
import { unauthenticated } from '../../graphql/errors.ts';
import { isOutage } from '../../platform/db/errors.ts';
import type { Logger } from '../../platform/log.ts';
import type { OperationArgs } from '../operation-context.ts';
import { type CostCeilings, refused, textOf } from '../outcome.ts';
import type { SubscriberStream } from './subscriber-stream.ts';
import { refusalOf } from './subscription-check.ts';

/**
 * The credentials no longer allow what they did: ends a stream whose credentials were revoked or have expired. A stream
 * that they still allow is interrupted: its client comes back for what they allow now. Never rejects.
 */
export async function recheckCredentials(
  stream: SubscriberStream,
  args: OperationArgs,
  present: Principal | undefined,
  { limits, log }: { readonly limits: CostCeilings; readonly log: Logger },
): Promise<void> {
  const { state, requestId } = args.contextValue;
  const told = { cost: state.cost, limits };
  if (present === undefined) {
    const error = unauthenticated('The credentials behind this stream have expired or been revoked.');
    return stream.finish(textOf(refused(error, { requestId, log }), told));
  }
  try {
    const contextValue = { ...args.contextValue, caller: present };
    const refusal = await refusalOf({ ...args, contextValue }, log);
    if (refusal === undefined) stream.interrupt();
    else stream.finish(textOf(refusal, told));
  } catch (error) {
    log[isOutage(error) ? 'debug' : 'warn'](
      { err: error, requestId },
      'could not check an event stream again; interrupting it',
    );
    stream.interrupt();
  }
}
