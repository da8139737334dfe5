import type { interactionPolicy } from 'oidc-provider';
import type { Library } from './library.ts';

/**
 * When the library asks for our pages: always once per authorization, since it does not know who is signed
 * in. The pages handle both sign-in and consent, and skip what need not be asked.
 */
export function interactionPolicyOf({
  errors,
  interactionPolicy: { Check, Prompt },
}: Library): interactionPolicy.Prompt[] {
  return [
    new Prompt(
      { name: 'login', requestable: true },
      new Check(
        'signed_out',
        'the user must sign in',
        'login_required',
        ({ oidc }) => oidc.result?.login === undefined,
      ),
    ),
    new Prompt(
      { name: 'consent', requestable: true },
      new Check('not_asked', 'the user must give consent', 'consent_required', ({ oidc }) => {
        if (oidc.account === undefined) throw new errors.AccessDenied('the account has been disabled');
        return oidc.result?.consent === undefined;
      }),
    ),
  ];
}
