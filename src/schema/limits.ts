import type { TextRule } from '../engine/core/input.ts';
import { type Config, loadConfig } from '../platform/config/config.ts';

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

/** The rules of contract section 1. Those that operators may choose are taken from the settings: none of them so far. */
export const rulesOf = (_settings: Pick<Config, never>): Rules => ({
  account: { keyName: { min: 1, max: 100, visible: true }, maxListed: 100 },
  post: {
    title: { min: 1, max: 200, visible: true },
    body: { min: 1, max: 50_000 },
    tag: { min: 1, max: 50 },
    maxTags: 10,
  },
  comment: { body: { min: 1, max: 5_000 } },
});

/** The rules under the default settings: those of the published schema. */
export const RULES: Rules = rulesOf(loadConfig({}));
