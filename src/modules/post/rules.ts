import { badInput } from '../../graphql/errors.ts';
import { checkText } from '../../graphql/input.ts';

export const MAX_TAGS = 10;
export const TITLE = { min: 1, max: 200, visible: true };
export const BODY = { min: 1, max: 50_000 };
export const TAG = { min: 1, max: 50 };

/** The rules of contract section 1 for what a post holds. Each throws BAD_USER_INPUT and returns its text unchanged. */
export const checkTitle = (title: string): string => checkText('title', title, TITLE);
export const checkBody = (body: string): string => checkText('body', body, BODY);
export const checkTag = (argument: string, tag: string): string => checkText(argument, tag, TAG);

export function checkTags(tags: readonly string[]): readonly string[] {
  if (tags.length > MAX_TAGS)
    throw badInput('tags', `must hold at most ${MAX_TAGS} tags; it has ${tags.length}.`);
  for (const tag of tags) checkTag('tags', tag);
  if (new Set(tags).size < tags.length) throw badInput('tags', 'must not hold a tag twice.');
  return tags;
}
