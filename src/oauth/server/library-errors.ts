import type { Configuration } from 'oidc-provider';
import { errorPage } from '../../http/pages/error-page.ts';
import { pageHeaders } from '../../http/pages/page-response.ts';
import type { Logger } from '../../platform/log.ts';
import type { LibraryCalls } from './call.ts';
import { oauthRefusal } from './oauth-error.ts';

/** Messages to the user for errors that cannot be sent back to the application. */
const MESSAGES: Readonly<Record<string, string>> = {
  invalid_client: 'The application that sent you here is unknown or no longer registered.',
  invalid_redirect_uri:
    'The application that sent you here asked for a response at an address that is not registered for it. Nothing was sent there.',
};
const OTHERWISE = 'Go back to the application and start again.';

/** Shows errors that must not be sent to the application, since that would be an open redirect. */
export function createErrorRenderer(
  { stateOf }: Pick<LibraryCalls, 'stateOf'>,
  log: Logger,
): NonNullable<Configuration['renderError']> {
  return (ctx, out, error) => {
    const state = stateOf(ctx.req);
    if (state === undefined) throw error;
    const { requestId } = state;
    ctx.set(pageHeaders());
    if (!('expose' in error) || error.expose !== true) {
      const { status, headers, description } = oauthRefusal(error, state, log);
      ctx.status = status;
      ctx.set({ ...headers });
      ctx.body = errorPage({ title: 'Something went wrong', message: description, requestId });
      return;
    }
    state.errorCodes = [out.error];
    const detail = [out.error, out.error_description].filter((part) => part !== undefined).join(': ');
    const message = MESSAGES[out.error] ?? OTHERWISE;
    ctx.body = errorPage({ title: 'Unable to continue', message, detail, requestId });
  };
}
