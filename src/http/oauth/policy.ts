import type { interactionPolicy } from 'oidc-provider';
import type { Library } from './library.ts';

/**
 * When the library asks for our pages: once in each authorization, always, since it does not know who is signed in.
 * The pages settle both, who it is and what they allow, and skip what needs no asking.
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
        'the user has to sign in',
        'login_required',
        ({ oidc }) => oidc.result?.login === undefined,
      ),
    ),
    new Prompt(
      { name: 'consent', requestable: true },
      new Check('not_asked', 'the user has to allow it', 'consent_required', ({ oidc }) => {
        if (oidc.account === undefined)
          throw new errors.AccessDenied('the account has been disabled meanwhile');
        return oidc.result?.consent === undefined;
      }),
    ),
  ];
}
