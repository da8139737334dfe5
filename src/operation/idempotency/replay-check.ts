import type { Caller } from '../../auth/principal.ts';
import { forbidden } from '../../graphql/errors.ts';
import { guardsOf, requireGuards, requireScope } from '../../graphql/scope-plugin.ts';
import type { RequestedFields, RequestedOperation, SchemaField } from '../requested-fields.ts';
import type { Disclosure } from './store.ts';

/** Decides who may be given a stored response (contract section 6). */
export interface ReplayCheck {
  /** What is to be kept with a response that has data. */
  disclosureOf(asked: RequestedOperation, caller: Caller, notedScopes: ReadonlySet<string>): Disclosure;
  /** Throws FORBIDDEN where executing the operation would refuse the caller, whatever rows it met. */
  require(asked: RequestedOperation, caller: Caller, disclosure: Disclosure): void;
}

const isSecret = (field: SchemaField) => guardsOf(field).secret === true;

function isGuarded(field: SchemaField): boolean {
  const { scope, session, scopeForOthers } = guardsOf(field);
  return scope !== undefined || session === true || scopeForOthers !== undefined;
}

/**
 * What an execution would check of the caller is read off the schema, for every field that the operation asks for:
 * also for those behind a field that failed the first time. What depends on rows is not looked at again: the account
 * is the same, and so its own rows are the same; the scopes that showed it rows of others are stored with the response.
 */
export function createReplayCheck(requestedFields: RequestedFields): ReplayCheck {
  const asksForSecret = (asked: RequestedOperation) => requestedFields(asked, isSecret).length > 0;
  return {
    disclosureOf(asked, caller, notedScopes) {
      const scopes = [...notedScopes];
      if (!asksForSecret(asked)) return { sessionId: null, scopes };
      // The secret of any caller but a session is given to nobody again.
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
      // Null is what an earlier version of the service has stored: the worst is taken for true.
      const isSomebodyElses =
        scopes === null
          ? asksForSecret(asked)
          : sessionId !== null && (caller.kind !== 'session' || caller.credentialId !== sessionId);
      if (isSomebodyElses)
        throw forbidden('The answer holds a secret that is shown once, to the session that asked for it.');
    },
  };
}
