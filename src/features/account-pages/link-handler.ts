import { AccountError, checkPassword, LOCK_ACCOUNT } from '../../auth/accounts.ts';
import { audit } from '../../auth/audit.ts';
import { chargedTo } from '../../auth/principal.ts';
import { revokeInBatches, setPassword } from '../../auth/revocation.ts';
import { readConnectionFor } from '../../auth/secrets.ts';
import { readForm } from '../../http/body.ts';
import type { AdmittedRequest, RouteHandler } from '../../http/exchange.ts';
import { OWN_SITES } from '../../http/hooks/request-checks.ts';
import { pageResponse } from '../../http/html/page.ts';
import type { HttpRequest, HttpResponse } from '../../http/message.ts';
import { forbidden } from '../../platform/errors.ts';
import { formatIpOwner } from '../../platform/ip-address.ts';
import type { AccountServices } from './account-data.ts';
import { passwordPage, passwordSetPage, TWO_DIFFER, voidLinkPage } from './forms.ts';
import { consumeLink, findLink, type Link } from './links.ts';
import { TOKEN_PARAMETER } from './paths.ts';

/** The status does not reveal if a link has ever existed. */
const UNKNOWN_LINK_STATUS = 404;

/**
 * @returns a message for the person who chose the password; undefined if the password and its repetition are
 * valid
 */
async function problemOf(form: URLSearchParams): Promise<string | undefined> {
  const password = form.get('password') ?? '';
  if (password !== form.get('again')) return TWO_DIFFER;
  try {
    await checkPassword(password);
    return undefined;
  } catch (error) {
    if (error instanceof AccountError) return error.message;
    throw error;
  }
}

/**
 * A GET changes nothing, because mail scanners open links in messages. The form is posted to the same URL and
 * handled there, without a redirect. Only the token counts, so no cookie is read or set.
 */
export function createLinkHandler(options: AccountServices): RouteHandler {
  const { database, passwords, limiter, securityLog, accountWriteQueue, passwordChangeRevocations } = options;
  // The URL contains the token, so links on the page must not send the URL as Referer.
  const headers = { 'referrer-policy': 'no-referrer' };

  async function reject(admitted: AdmittedRequest): Promise<HttpResponse> {
    await limiter.credentials.failure(formatIpOwner(admitted.clientAddress));
    const reason = 'The link is unknown, used, expired or replaced.';
    securityLog.failedCredential(admitted, { kind: 'link', reason });
    return pageResponse(voidLinkPage(), { status: UNKNOWN_LINK_STATUS, headers });
  }

  /** @returns false if the link was used, replaced or revoked after the form was loaded */
  async function set(link: Link, token: string, password: string, { requestId }: AdmittedRequest) {
    const { account, id, kind } = link;
    const hash = await passwords.hash(account, password);
    await revokeInBatches(accountWriteQueue.statements(account), [account], passwordChangeRevocations);
    const author = { actorId: account, via: `link:${id}`, requestId };
    return accountWriteQueue.transaction(
      account,
      async (work) => {
        await work.query(LOCK_ACCOUNT, [account]);
        if (!(await consumeLink(work, token))) return false;
        const ended = await setPassword(work, account, hash, passwordChangeRevocations);
        await audit(work, `${kind}.use`, id, { account, revoked: ended });
        return true;
      },
      { author },
    );
  }

  async function submit(
    request: HttpRequest,
    admitted: AdmittedRequest,
    token: string,
  ): Promise<HttpResponse> {
    const link = await findLink(readConnectionFor(database, chargedTo(admitted)), token);
    if (link === undefined) return reject(admitted);
    const form = await readForm(request);
    const problem = await problemOf(form);
    if (problem !== undefined) return pageResponse(passwordPage(link, problem), { status: 400, headers });
    if (!(await set(link, token, form.get('password') ?? '', admitted))) return reject(admitted);
    securityLog.passwordChanged(admitted, link.account);
    return pageResponse(passwordSetPage(), { headers });
  }

  return async (request, admitted, { searchParams }) => {
    const token = searchParams.get(TOKEN_PARAMETER) ?? '';
    if (request.method === 'POST') {
      // The page sends no Referer, so its form has the Origin "null". Fetch Metadata identifies the sender
      // instead.
      const site = request.headers.get('sec-fetch-site');
      if (site !== null && !OWN_SITES.has(site))
        throw forbidden('This form can only be sent from the page of the link. Open the link again.');
      return submit(request, admitted, token);
    }
    const link = await findLink(readConnectionFor(database, chargedTo(admitted)), token);
    return link === undefined ? reject(admitted) : pageResponse(passwordPage(link), { headers });
  };
}
