import { checkText } from '../../graphql/input.ts';

/** The text of a comment (contract section 1). */
export const BODY = { min: 1, max: 5_000 };

/** Returns the text unchanged. Throws BAD_USER_INPUT. */
export const checkBody = (body: string): string => checkText('body', body, BODY);
