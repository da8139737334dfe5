import { ACCOUNT_NAME } from '../../auth/accounts.ts';
import { checkCharacters, checkText, lengthOf, type TextRule } from '../../engine/core/input.ts';
import { badInput, quoteValue } from '../../platform/errors.ts';
import type { ContentLimits } from '../content-limits.ts';

/** A handle of digits alone could be mistaken for a number. */
const HANDLE = /^\d*[a-z_][a-z\d_]*$/;
/** RFC 3986 has only ASCII characters, and no white space. */
const HTTPS = /^https:\/\/[!-~]+$/i;

export const describeHandle = (rule: TextRule): string =>
  `${lengthOf(rule)} of a-z, 0-9 and "_", not only digits`;

const isHandle = (text: string, { min, max }: TextRule): boolean =>
  text.length >= min && text.length <= max && HANDLE.test(text);

/**
 * @returns the handle in lower case; undefined for a string that is no handle and therefore matches nothing
 * @throws {ApiError} BAD_USER_INPUT
 */
export function parseHandle(text: string, rule: TextRule): string | undefined {
  const handle = checkCharacters('handle', text).toLowerCase();
  return isHandle(handle, rule) ? handle : undefined;
}

type Profile = Record<'name' | 'handle' | 'bio' | 'avatarUrl', string>;

/** Absent and null fields keep their values. Empty strings remove a handle or a picture. */
export type ProfileChanges = { readonly [Field in keyof Profile]?: Profile[Field] | null | undefined };

/** @throws {ApiError} BAD_USER_INPUT */
export function checkProfile(
  { name, handle, bio, avatarUrl: picture }: ProfileChanges,
  limits: ContentLimits['profile'],
): void {
  if (name != null) checkText('name', name, ACCOUNT_NAME);
  if (handle && !isHandle(handle, limits.handle))
    throw badInput('handle', `must be ${describeHandle(limits.handle)}, but is ${quoteValue(handle)}.`);
  if (bio != null) checkText('bio', bio, limits.bio);
  if (!picture) return;
  checkText('avatarUrl', picture, limits.avatarUrl);
  if (!HTTPS.test(picture) || !URL.canParse(picture))
    throw badInput('avatarUrl', `must be an https URL in ASCII, but is ${quoteValue(picture)}.`);
}
