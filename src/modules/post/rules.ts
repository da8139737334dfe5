import { badInput } from '../../graphql/errors.ts';
import { checkText } from '../../graphql/input.ts';

export const MAX_TAGS = 10;
export const TITLE = { min: 1, max: 200, visible: true };
export const BODY = { min: 1, max: 50_000 };
export const TAG = { min: 1, max: 50 };

/** The rules of contract section 1 for posts. Each returns its text unchanged or throws BAD_USER_INPUT. */
export const checkTitle = (title: string): string => checkText('title', title, TITLE);
export const checkBody = (body: string): string => checkText('body', body, BODY);
export const checkTag = (argument: string, tag: string): string => checkText(argument, tag, TAG);

export function checkTags(tags: readonly string[]): readonly string[] {
  if (tags.length > MAX_TAGS)
    throw badInput('tags', `must contain at most ${MAX_TAGS} tags; it contains ${tags.length}.`);
  for (const tag of tags) checkTag('tags', tag);
  if (new Set(tags).size < tags.length) throw badInput('tags', 'must not contain duplicates.');
  return tags;
}
