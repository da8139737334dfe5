import type { Anonymous } from '../auth/principal.ts';
import { needsMoreThan } from '../graphql/scope-plugin.ts';
import type { RequestedFields, RequestedOperation } from './requested-fields.ts';

/** Whether an operation asks for something that it needs credentials for. */
export type AnonymousAccessCheck = (asked: RequestedOperation) => boolean;

/**
 * For callers without credentials who may read something all the same: what else an operation has in it refuses it as
 * a whole before anything of it runs (contract section 3).
 */
export function createAnonymousAccessCheck(
  requestedFields: RequestedFields,
  { scopes }: Anonymous,
): AnonymousAccessCheck {
  return (asked) => requestedFields(asked, (field) => needsMoreThan(scopes, field)).length > 0;
}
