import type { Config } from '../../platform/config/config.ts';
import type { Clock } from '../../platform/deadline.ts';
import type { RouteHandler } from '../exchange.ts';
import { HttpResponse } from '../message.ts';
import { PATHS } from './table.ts';

const DAY_MS = 86_400_000;
/** RFC 9116 §2.5.5 recommends less than a year, so that no reader relies on a stale copy. */
const VALID_DAYS = 180;

export interface SecurityTxtOptions {
  readonly contacts: Config['securityContacts'];
  readonly origin: () => string;
  readonly clock: Pick<Clock, 'now'>;
}

/**
 * `/.well-known/security.txt` tells where to report vulnerabilities (RFC 9116). The path is 404 without a contact.
 */
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
