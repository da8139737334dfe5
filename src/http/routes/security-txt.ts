import type { Config } from '../../platform/config/config.ts';
import type { Clock } from '../../platform/deadline.ts';
import type { RouteHandler } from '../exchange.ts';
import { HttpResponse } from '../message.ts';
import { PATHS } from './table.ts';

const DAY_MS = 86_400_000;
/** RFC 9116 section 2.5.5 recommends less than a year, so that nobody relies on a stale copy. */
const VALID_DAYS = 180;

export interface SecurityTxtOptions {
  readonly contacts: Config['securityContacts'];
  /** The public origin of the service. */
  readonly origin: () => string;
  readonly clock: Pick<Clock, 'now'>;
}

/** `/.well-known/security.txt` (RFC 9116): where people report vulnerabilities. 404 without a contact. */
export function createSecurityTxtHandler({ contacts, origin, clock }: SecurityTxtOptions): RouteHandler {
  return async () => {
    if (contacts.length === 0) return undefined;
    const expires = new Date((Math.floor(clock.now() / DAY_MS) + VALID_DAYS) * DAY_MS);
    const fields = [
      ...contacts.map((contact) => `Contact: ${contact}`),
      `Expires: ${expires.toISOString()}`,
      `Canonical: ${origin()}${PATHS.securityTxt}`,
    ];
    return new HttpResponse(`${fields.join('\n')}\n`, {
      headers: { 'content-type': 'text/plain; charset=utf-8' },
    });
  };
}
