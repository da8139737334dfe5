import fc from 'fast-check';
import { type Field, field, mostly, reference, scopes } from '../../model/mutations.ts';
import type { Asked, Fault, Instance, Move, Sending } from './moves.ts';

const by = fc.oneof(
  { weight: 2, arbitrary: fc.constantFrom(0, 1, 5) },
  { weight: 3, arbitrary: fc.nat({ max: 19 }) },
);
const instance = fc.constantFrom<Instance>(0, 1);
const fresh: fc.Arbitrary<Asked> = fc.record({
  fields: fc.oneof(
    { weight: 3, arbitrary: fc.array(field, { minLength: 1, maxLength: 1 }) },
    { weight: 2, arbitrary: fc.array(field, { minLength: 2, maxLength: 4 }) },
  ),
  slot: fc.option(fc.nat({ max: 40 }), { nil: undefined, freq: 3 }),
  plain: fc.boolean(),
});
const again: fc.Arbitrary<Asked> = fc.record({
  again: reference,
  change: mostly<'none' | 'spaces' | 'variables'>('none', 'spaces', 'variables'),
});
const asked = fc.oneof({ weight: 3, arbitrary: fresh }, { weight: 2, arbitrary: again });
const sending = fc.record({ instance, by, asked });

/**
 * A new API key, asked for by a session under an Idempotency-Key, and at once again under it: by the same session,
 * another one of the account, or a key of the account's.
 */
const minted: fc.Arbitrary<Sending[]> = fc
  .record({
    instance,
    scopes,
    slot: fc.nat({ max: 40 }),
    by: fc.constantFrom(1, 6, 9, 10),
    others: fc.array(fc.record({ instance, by: fc.constantFrom(0, 1, 10) }), { maxLength: 2 }),
  })
  .map(({ scopes: granted, slot, others, ...first }) => {
    const made: Field = { kind: 'createApiKey', scopes: granted, password: 'right', show: 'secret' };
    return [first, ...others].map(({ instance: at, by: who }) => ({
      instance: at,
      by: who,
      asked: { fields: [made], slot, plain: true },
    }));
  });

/** A session that ends itself, and then asks for an API key: unless others have come, the newest is the last of the cast. */
const parting: fc.Arbitrary<Sending[]> = fc
  .record({
    instance,
    scopes,
    session: fc.constantFrom({ by: 10, session: 0 }, { by: 9, session: 1 }, { by: 6, session: 2 }),
    show: fc.constantFrom<'secret' | 'plain'>('secret', 'plain'),
  })
  .map(({ instance: at, scopes: granted, session: { by: who, session }, show }) => {
    const fields: Field[] = [
      { kind: 'revokeSession', session },
      { kind: 'createApiKey', scopes: granted, password: 'right', show },
    ];
    return [{ instance: at, by: who, asked: { fields, slot: undefined, plain: true } }];
  });

/** One mutation from two or three places at once. */
const twins = fc
  .tuple(fresh, fc.array(fc.record({ instance, by }), { minLength: 2, maxLength: 3 }))
  .map(([same, places]) => places.map((place) => ({ ...place, asked: same })));

/** Two mutations that meet two posts in opposite orders. */
const crossed = fc
  .tuple(fc.array(field, { minLength: 2, maxLength: 3 }), by, by)
  .map(([fields, one, other]) => [
    { instance: 0 as const, by: one, asked: { fields, slot: undefined, plain: true } },
    {
      instance: 1 as const,
      by: other,
      asked: { fields: [...fields].reverse(), slot: undefined, plain: true },
    },
  ]);

const sends: fc.Arbitrary<Sending[]> = fc.oneof(
  { weight: 6, arbitrary: fc.array(sending, { minLength: 1, maxLength: 1 }) },
  { weight: 3, arbitrary: fc.array(sending, { minLength: 2, maxLength: 3 }) },
  { weight: 2, arbitrary: twins },
  { weight: 1, arbitrary: crossed },
  { weight: 1, arbitrary: minted },
  { weight: 1, arbitrary: parting },
);

/** What may go wrong: nothing where there are no proxies. */
export interface Weather {
  readonly database: boolean;
  readonly redis: boolean;
}

/** A post through the second instance, which nothing but a fault can be against. */
const behindFaults: fc.Arbitrary<Sending[]> = fc
  .record({
    by: fc.constantFrom(0, 1, 5),
    slot: fc.option(fc.nat({ max: 40 }), { nil: undefined }),
    plain: fc.boolean(),
    show: fc.constantFrom<'plain' | 'author' | 'comments'>('plain', 'author', 'comments'),
    others: fc.array(sending, { maxLength: 2 }),
  })
  .map(({ by: who, slot, plain, show, others }) => [
    {
      instance: 1,
      by: who,
      asked: { fields: [{ kind: 'createPost', title: 'T', tags: ['a'], show }], slot, plain },
    },
    ...others,
  ]);

/** Mutations sent at once, now and then while something goes wrong. */
function sent({ database, redis }: Weather): fc.Arbitrary<Move> {
  const move = fc.constant('send' as const);
  const usual = fc.record({ move, sends, fault: fc.constant(undefined) });
  const kinds: Fault['kind'][] = [
    ...(database ? (['cut before COMMIT', 'cut after COMMIT', 'hold COMMIT', 'stall', 'drop'] as const) : []),
    ...(redis ? (['stall Redis', 'drop Redis'] as const) : []),
  ];
  if (kinds.length === 0) return usual;
  const fault = fc.record({ kind: fc.constantFrom(...kinds), ms: fc.constantFrom(20, 100, 100, 300) });
  return fc.oneof(
    { weight: 8, arbitrary: usual },
    { weight: 1, arbitrary: fc.record({ move, sends, fault }) },
    { weight: 2, arbitrary: fc.record({ move, sends: behindFaults, fault }) },
  );
}

const shifted = fc.constantFrom(-48, -25, -1, 1, 25, 48);

/** Sequences of up to `longest` moves. */
export function sequences(weather: Weather, longest: number): fc.Arbitrary<Move[]> {
  const move: fc.Arbitrary<Move> = fc.oneof(
    {
      weight: 12,
      arbitrary: sent(weather),
    },
    {
      weight: 2,
      arbitrary: fc.record({ move: fc.constant('read' as const), instance, by, post: reference }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        move: fc.constant('search' as const),
        instance,
        by,
        query: fc.constantFrom('t', 'b -t', '-t', '"b"', 'e', 'u*', '-u'),
        account: fc.nat({ max: 2 }),
        first: fc.constantFrom(1, 3, 100),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        move: fc.constant('burst' as const),
        instance,
        by,
        count: fc.constantFrom(3, 20, 31, 40),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        move: fc.constant('revoke' as const),
        instance,
        by,
        ms: fc.constantFrom(0, 999, 1_000, 2_000),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        move: fc.constant('pass' as const),
        ms: fc.constantFrom(100, 500, 1_000, 1_000, 7_000),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ move: fc.constant('set clock' as const), instance, hours: shifted }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ move: fc.constant('log in' as const), instance, account: fc.nat({ max: 2 }) }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ move: fc.constant('log out' as const), instance, session: reference }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        move: fc.constant('follow' as const),
        instance,
        by,
        resumes: fc.option(reference, { nil: undefined, freq: 2 }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ move: fc.constant('cut stream' as const), stream: reference }) },
  );
  // Else fast-check prefers short sequences, in which little can go wrong.
  return fc.array(move, { minLength: 1, maxLength: longest, size: 'max' });
}
