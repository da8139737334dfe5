import type { TextRule } from '../graphql/input.ts';

/** The numbers of the product. What is checked, what descriptions say and how large an answer may be is made of them. */
export interface Rules {
  readonly account: {
    readonly keyName: TextRule;
    /** Nobody looks through a longer list, and the newest entries are the ones in use. */
    readonly maxListed: number;
  };
  readonly post: {
    readonly title: TextRule;
    readonly body: TextRule;
    readonly tag: TextRule;
    readonly maxTags: number;
  };
  readonly comment: { readonly body: TextRule };
}

/** The rules of contract section 1. */
export const RULES: Rules = {
  account: { keyName: { min: 1, max: 100, visible: true }, maxListed: 100 },
  post: {
    title: { min: 1, max: 200, visible: true },
    body: { min: 1, max: 50_000 },
    tag: { min: 1, max: 50 },
    maxTags: 10,
  },
  comment: { body: { min: 1, max: 5_000 } },
};
