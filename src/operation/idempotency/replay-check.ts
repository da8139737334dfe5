import type { Caller } from '../../auth/principal.ts';
import { forbidden } from '../../graphql/errors.ts';
import { guardsOf, requireGuards, requireScope } from '../../graphql/scope-plugin.ts';
import type { RequestedFields, RequestedOperation, SchemaField } from '../requested-fields.ts';
import type { Disclosure } from './store.ts';

/** Decides who may receive a stored response (contract section 6). */
export interface ReplayCheck {
  /** What to store with a response that has data. */
  disclosureOf(asked: RequestedOperation, caller: Caller, notedScopes: ReadonlySet<string>): Disclosure;
  /** Throws FORBIDDEN if executing the operation would refuse the caller, whatever the rows. */
  require(asked: RequestedOperation, caller: Caller, disclosure: Disclosure): void;
}

const isSecret = (field: SchemaField) => guardsOf(field).secret === true;

function isGuarded(field: SchemaField): boolean {
  const { scope, session, scopeForOthers } = guardsOf(field);
  return scope !== undefined || session === true || scopeForOthers !== undefined;
}

/**
 * Reads from the schema what an execution would check of the caller, for every selected field, including
 * those behind a field that failed the first time. Checks that depend on rows are not repeated: the account
 * is the same, and so are its own rows; the scopes that revealed rows of others are stored with the response.
 */
export function createReplayCheck(requestedFields: RequestedFields): ReplayCheck {
  const asksForSecret = (asked: RequestedOperation) => requestedFields(asked, isSecret).length > 0;
  return {
    disclosureOf(asked, caller, notedScopes) {
      const scopes = [...notedScopes];
      if (!asksForSecret(asked)) return { sessionId: null, scopes };
      // A secret requested without a session is never replayed.
      const sessionId = caller.kind === 'session' ? (caller.credentialId ?? null) : null;
      return { sessionId, scopes: sessionId === null ? null : scopes };
    },
    require(asked, caller, { sessionId, scopes }) {
      for (const field of requestedFields(asked, isGuarded)) {
        const { scopeForOthers, ...guards } = guardsOf(field);
        requireGuards(caller, guards);
        if (scopeForOthers !== undefined && (scopes?.includes(scopeForOthers) ?? true))
          requireScope(caller, scopeForOthers);
      }
      // Null comes from an earlier version of the service: assume the worst.
      const isSomebodyElses =
        scopes === null
          ? asksForSecret(asked)
          : sessionId !== null && (caller.kind !== 'session' || caller.credentialId !== sessionId);
      if (isSomebodyElses)
        throw forbidden(
          'The response contains a secret that is shown only once, to the session that requested it.',
        );
    },
  };
}
