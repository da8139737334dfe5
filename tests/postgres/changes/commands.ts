import fc from 'fast-check';
import { contentField, type Field } from '../../model/mutations.ts';

export const KINDS = [
  'POST_CREATED',
  'POST_UPDATED',
  'POST_DELETED',
  'COMMENT_CREATED',
  'COMMENT_UPDATED',
  'COMMENT_DELETED',
] as const;

/** What a reader asks for. Numbers choose among what there is or was; null stands for no filter. */
export interface Asked {
  readonly post: number | null;
  readonly author: number | null;
  readonly kinds: readonly string[] | null;
}

/** An operation of an account, at one of the instances. */
export interface Mutation {
  readonly account: number;
  readonly instance: number;
  readonly fields: readonly Field[];
}

/** What happens while readers read. */
export type Command =
  | ({ readonly kind: 'mutate' } & Mutation)
  /** Posts by several accounts at once. */
  | { readonly kind: 'together'; readonly posts: number }
  | { readonly kind: 'hold'; readonly writes: boolean }
  | { readonly kind: 'end'; readonly commits: boolean }
  | {
      readonly kind: 'join';
      readonly asked: Asked;
      readonly multipart: boolean;
      readonly instance: number;
      /** Whether it goes on from an id that there is already, and from which. */
      readonly resumes: boolean;
      readonly source: number;
    }
  | { readonly kind: 'join posts'; readonly instance: number }
  | {
      readonly kind: 'page';
      readonly cost: boolean;
      /** What is changed after a statement of the query. */
      readonly meanwhile: Mutation | undefined;
      readonly followed: 'at once' | 'at the end';
    }
  | { readonly kind: 'breathe' };

const any = fc.nat({ max: 1_000 });

/** With answers that name all that they make. */
const field = contentField.map((one): Field => {
  if (one.kind === 'createPost') return { ...one, show: 'plain' };
  return one.kind === 'createComment' ? { ...one, show: 'plain' } : one;
});

const mutation = fc.record({
  account: any,
  instance: any,
  fields: fc.array(field, { minLength: 1, maxLength: 3 }),
});

const asked: fc.Arbitrary<Asked> = fc.record({
  post: fc.option(any, { nil: null, freq: 3 }),
  author: fc.option(any, { nil: null, freq: 3 }),
  kinds: fc.option(fc.subarray([...KINDS], { minLength: 1 }), { nil: null, freq: 3 }),
});

const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 10, arbitrary: mutation.map((one) => ({ kind: 'mutate' as const, ...one })) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('together' as const), posts: fc.integer({ min: 2, max: 3 }) }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('hold' as const), writes: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('end' as const), commits: fc.boolean() }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('join' as const),
      asked,
      multipart: fc.boolean(),
      instance: any,
      resumes: fc.boolean(),
      source: any,
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('join posts' as const), instance: any }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('page' as const),
      cost: fc.boolean(),
      meanwhile: fc.option(mutation, { nil: undefined, freq: 2 }),
      followed: fc.constantFrom('at once' as const, 'at the end'),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('breathe' as const) }) },
);

export const commands = fc.array(command, { minLength: 15, maxLength: 40, size: 'max' });

/** A reader who comes when all has happened, with any id. */
export type LateJoin = Pick<Extract<Command, { kind: 'join' }>, 'asked' | 'multipart' | 'source'>;

export const lateJoins: fc.Arbitrary<LateJoin[]> = fc.array(
  fc.record({ asked, multipart: fc.boolean(), source: any }),
  { minLength: 4, maxLength: 8 },
);
