import type { Anonymous } from '../auth/principal.ts';
import { needsMoreThan } from '../graphql/scope-plugin.ts';
import type { RequestedFields, RequestedOperation } from './operation-cost.ts';

/** Whether an operation asks for something that needs credentials. */
export type AnonymousAccessCheck = (asked: RequestedOperation) => boolean;

/**
 * For callers without credentials who may read some fields. An operation that asks for anything else is
 * refused as a whole before any of it runs (contract section 3).
 */
export function createAnonymousAccessCheck(
  requestedFields: RequestedFields,
  { scopes }: Anonymous,
): AnonymousAccessCheck {
  return (asked) => requestedFields(asked).some((field) => needsMoreThan(scopes, field));
}
