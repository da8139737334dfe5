import { type Caller, isSession } from '../../../auth/principal.ts';
import { forbidden } from '../../../platform/errors.ts';
import {
  fieldNamed,
  hasPermissions,
  permissionsOf,
  requirePermissions,
  requireScope,
  scopesByRow,
} from '../../core/permissions.ts';
import type { SchemaField } from '../../documents/cost.ts';
import type { RequestedFields, RequestedOperation } from '../../documents/limits.ts';
import type { ReplayPolicy } from './response-store.ts';

const isSecret = (field: SchemaField) => permissionsOf(field).secret === true;

/**
 * Decides who may receive a stored response (contract: idempotency). The caller needs the permissions of all selected
 * fields, even of fields behind a field that failed the first time. Checks that depend on rows are not repeated,
 * because the account and therefore its own rows are the same. Scopes that revealed something of some rows are stored
 * with the response.
 */
export function createReplayCheck(requestedFields: RequestedFields) {
  const asksForSecret = (requested: RequestedOperation) => requestedFields(requested).some(isSecret);
  return {
    getReplayPolicy(
      requested: RequestedOperation,
      caller: Caller,
      notedScopes: ReadonlySet<string>,
    ): ReplayPolicy {
      const scopes = [...notedScopes];
      if (!asksForSecret(requested)) return { sessionId: null, scopes };
      // A secret requested without a session is never replayed.
      const sessionId = isSession(caller) ? (caller.credentialId ?? null) : null;
      return { sessionId, scopes: sessionId === null ? null : scopes };
    },
    /** @throws {ApiError} FORBIDDEN if the caller lacks a permission that a field needs for every row */
    requireAccess(requested: RequestedOperation, caller: Caller): void {
      for (const field of requestedFields(requested))
        requirePermissions(caller, permissionsOf(field), fieldNamed(field));
    },
    hasAccess: (requested: RequestedOperation, caller: Caller): boolean =>
      requestedFields(requested).every((field) => hasPermissions(caller, permissionsOf(field))),
    /** @throws {ApiError} FORBIDDEN if a caller who has access may not receive the stored response */
    require(requested: RequestedOperation, caller: Caller, { sessionId, scopes }: ReplayPolicy): void {
      for (const field of requestedFields(requested))
        for (const scope of scopesByRow(field))
          if (scopes?.includes(scope) ?? true) requireScope(caller, scope, fieldNamed(field));
      // A secret that was shown without a session can never be shown again.
      const isForbidden =
        scopes === null
          ? asksForSecret(requested)
          : sessionId !== null && (!isSession(caller) || caller.credentialId !== sessionId);
      if (isForbidden)
        throw forbidden(
          'The stored response contains a secret, which only the session that requested it can read. Use that session, or send a new Idempotency-Key.',
        );
    },
  };
}

export type ReplayCheck = ReturnType<typeof createReplayCheck>;
