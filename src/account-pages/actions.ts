/** What the forms of the account page ask for. */
export const ACTIONS = [
  'sign-in',
  'sign-out',
  'rename',
  'change-password',
  'end-session',
  'create-key',
  'revoke-key',
  'revoke-grant',
  'download',
  'revoke-everything',
] as const;
export type Action = (typeof ACTIONS)[number];

/** The field of each form that says it. */
export const ACTION = 'do';

export const isAction = (text: string | null): text is Action =>
  (ACTIONS as readonly (string | null)[]).includes(text);

/** The query parameter by which the page tells what has been done. */
export const DONE = 'done';
