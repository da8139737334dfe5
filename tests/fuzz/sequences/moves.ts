import type { Field, Reference } from '../../model/mutations.ts';

/** Which of the two instances; the second is the one behind the proxies. */
export type Instance = 0 | 1;

/** A new mutation, with an Idempotency-Key of that number or none, or one from before under its key. */
export type Asked =
  | {
      readonly fields: readonly Field[];
      readonly slot: number | undefined;
      /** Without a variable, and with no root field but these: there are short ways for that. */
      readonly plain: boolean;
    }
  | { readonly again: Reference; readonly change: 'none' | 'spaces' | 'variables' };

export interface Sending {
  readonly instance: Instance;
  /** Which credential; with `again`, mostly of the account that sent it first. */
  readonly by: number;
  readonly asked: Asked;
}

/** What goes wrong between the second instance and its servers while a move is under way. */
export interface Fault {
  readonly kind:
    | 'cut before COMMIT'
    | 'cut after COMMIT'
    | 'hold COMMIT'
    | 'stall'
    | 'drop'
    | 'stall Redis'
    | 'drop Redis';
  readonly ms: number;
}

export type Move =
  | { readonly move: 'send'; readonly sends: readonly Sending[]; readonly fault: Fault | undefined }
  | { readonly move: 'read'; readonly instance: Instance; readonly by: number; readonly post: Reference }
  | {
      readonly move: 'search';
      readonly instance: Instance;
      readonly by: number;
      readonly query: string;
      /** Whose posts it looks for: those of other sequences are in the index, too. */
      readonly account: number;
      readonly first: number;
    }
  | { readonly move: 'burst'; readonly instance: Instance; readonly by: number; readonly count: number }
  /** Revokes the key at the other instance, and uses it so much later. */
  | { readonly move: 'revoke'; readonly instance: Instance; readonly by: number; readonly ms: number }
  | { readonly move: 'pass'; readonly ms: number }
  | { readonly move: 'set clock'; readonly instance: Instance; readonly hours: number }
  | { readonly move: 'log in'; readonly instance: Instance; readonly account: number }
  | { readonly move: 'log out'; readonly instance: Instance; readonly session: Reference }
  | {
      readonly move: 'follow';
      readonly instance: Instance;
      readonly by: number;
      readonly resumes: Reference | undefined;
    }
  | { readonly move: 'cut stream'; readonly stream: Reference };

function alone(by: number, field: Field): Move {
  const asked = { slot: undefined, fields: [field], plain: true };
  return { move: 'send', fault: undefined, sends: [{ instance: 0, by, asked }] };
}

/** What every sequence begins with: posts of two accounts, and a comment on the other's. */
export const OPENING: readonly Move[] = [
  alone(0, { kind: 'createPost', title: 'T', tags: ['a'], show: 'plain' }),
  alone(5, { kind: 'createPost', title: 'T', tags: [], show: 'plain' }),
  alone(0, { kind: 'createComment', post: 0, body: 'B', show: 'plain' }),
  alone(0, { kind: 'createPost', title: 'T', tags: [], show: 'plain' }),
];
