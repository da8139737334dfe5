import { answerTooLarge } from '../graphql/errors.ts';
import { publicError } from '../graphql/mask-error.ts';
import { oneStatementSize } from '../graphql/one-statement.ts';
import type { Hold, PendingResponses } from '../request/pending-responses.ts';
import type { RequestState } from '../request/request-state.ts';
import { introspectionSize } from './limits/introspection-size.ts';
import type { OperationArgs } from './operation-context.ts';
import { type CostCeilings, checkedSize, errorsOf, type Single } from './outcome.ts';

export interface ResponseBoundsOptions {
  readonly pending: PendingResponses;
  readonly maxResponseBytes: number;
  readonly limits: CostCeilings;
}

/** How large answers may be, before they are built and once they are (contract section 5). */
export interface ResponseBounds {
  /** What an answer holds that is none of a request's own, such as an event's. */
  hold(): Hold;
  /** Throws COMPLEXITY_LIMIT where what is asked of the schema is too large: graphql-js answers it in one go. */
  checkIntrospection(args: OperationArgs): void;
  /** Whether a mutation that commits by itself has a small answer for sure. */
  fitsOneStatement(args: OperationArgs): boolean;
  /**
   * The outcome, its answer counted for as long as that waits. Throws COMPLEXITY_LIMIT where it, or what was read for it, is too large,
   * and RATE_LIMITED or SERVICE_UNAVAILABLE where others hold too much.
   */
  checked<O extends Single>(outcome: O, state: RequestState, hold: Hold): O;
}

export function createResponseBounds({
  pending,
  maxResponseBytes,
  limits,
}: ResponseBoundsOptions): ResponseBounds {
  return {
    hold: () => pending.hold(),
    checkIntrospection(args) {
      const { operation } = args.contextValue;
      if (!operation.mayIntrospect) return;
      const bytes = introspectionSize(args, operation.node);
      if (bytes > maxResponseBytes) throw answerTooLarge(bytes, maxResponseBytes);
    },
    fitsOneStatement: ({ schema, contextValue: { plans, operation } }) =>
      oneStatementSize(plans, schema, operation.node) <= maxResponseBytes,
    checked(outcome, { cost }, hold) {
      if (hold.refusal !== undefined) throw hold.refusal;
      // What a field refused as too large is no answer without that field.
      const refused = errorsOf(outcome).find((error) => publicError(error).code === 'COMPLEXITY_LIMIT');
      if (refused !== undefined) throw refused;
      hold.reserve(checkedSize(outcome, { cost, limits }, maxResponseBytes));
      return outcome;
    },
  };
}
