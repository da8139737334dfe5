import fc from 'fast-check';

/** What happens while subscribers listen. Numbers choose among what there is. */
export type Command =
  | { readonly kind: 'create'; readonly author: number; readonly count: number; readonly large: boolean }
  | { readonly kind: 'edit' | 'delete' | 'comment'; readonly post: number; readonly late: boolean }
  | {
      readonly kind: 'join';
      readonly operation: number;
      readonly reader: number;
      readonly instance: number;
      /** Whether it resumes where another subscriber was, and where that is. */
      readonly resumes: boolean;
      readonly other: number;
      /** Whether it asks for the same as that one. */
      readonly twin: boolean;
      readonly event: number;
    }
  /** A late post is edited, and somebody asks at once for all that another subscriber has got. */
  | { readonly kind: 'revisit'; readonly post: number; readonly other: number; readonly instance: number }
  | { readonly kind: 'leave' | 'pause' | 'resume'; readonly subscriber: number }
  | { readonly kind: 'revoke'; readonly reader: number }
  | { readonly kind: 'hold-transaction' | 'end-transaction'; readonly writes: boolean }
  | { readonly kind: 'fail'; readonly statements: number }
  | { readonly kind: 'hold-reads' | 'release-reads' | 'breathe' };

const any = fc.nat(1_000);

const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('create' as const),
      author: any,
      count: fc.constantFrom(1, 1, 2, 8),
      large: fc.constantFrom(false, false, false, true),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constantFrom('edit' as const, 'delete', 'comment', 'edit'),
      post: any,
      late: fc.boolean(),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('join' as const),
      operation: any,
      reader: any,
      instance: any,
      resumes: fc.boolean(),
      other: any,
      twin: fc.boolean(),
      event: any,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constantFrom('leave' as const, 'pause', 'resume'), subscriber: any }),
  },
  {
    weight: 5,
    arbitrary: fc.record({ kind: fc.constant('revisit' as const), post: any, other: any, instance: any }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('revoke' as const), reader: any }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom('hold-transaction' as const, 'end-transaction'),
      writes: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('fail' as const), statements: fc.integer({ min: 1, max: 3 }) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constantFrom('hold-reads' as const, 'release-reads', 'breathe', 'breathe'),
    }),
  },
);

/** Many subscribers first, so that something happens to them. */
export const commands = fc.array(command, { minLength: 10, maxLength: 50, size: 'max' });
