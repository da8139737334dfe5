import fc from 'fast-check';

/** Half a surrogate pair, alone or in the middle of a text. */
const loneSurrogate = fc
  .tuple(fc.string({ maxLength: 4 }), fc.integer({ min: 0xd8_00, max: 0xdf_ff }), fc.string({ maxLength: 4 }))
  .map(([before, unit, after]) => `${before}${String.fromCharCode(unit)}${after}`)
  .filter((text) => !text.isWellFormed());

const withNul = fc
  .tuple(fc.string({ maxLength: 4 }), fc.string({ maxLength: 4 }))
  .map(([before, after]) => `${before}\0${after}`);

/** A text that no text argument takes. */
export const brokenText = fc.oneof(loneSurrogate, withNul);

/** Whole numbers that no `limit`, `first` or `offset` takes, though Int does. */
export const outOfRange = fc.oneof(
  fc.integer({ min: -2_147_483_648, max: -1 }),
  fc.integer({ min: 10_001, max: 2_147_483_647 }),
);

/** A text that is no cursor of any service, or looks like one. */
export const brokenCursor = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc.base64String({ maxLength: 60 }),
  fc.uint8Array({ minLength: 27, maxLength: 27 }).map((bytes) => Buffer.from(bytes).toString('base64url')),
  brokenText,
);

/** A text that names nothing: no UUID, or one that nobody has. */
export const unknownId = fc.oneof(
  fc.uuid(),
  fc.uuid().map((id) => id.slice(1)),
  fc.uuid().map((id) => `{${id}}`),
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc.constantFrom('', 'null', '0', '{}', "'; --", '00000000-0000-0000-0000-000000000000'),
  brokenText,
);

/** What JSON can say and a client might send for any argument, its type in mind or not. */
export const anyJson: fc.Arbitrary<unknown> = fc.oneof(
  outOfRange,
  fc.double(),
  fc.constantFrom(1e308, -1e308, 2 ** 31, -(2 ** 31) - 1, 2 ** 53, 0.5, true, false, null),
  brokenText,
  brokenCursor,
  unknownId,
  fc.constantFrom(
    'x'.repeat(60_000),
    '👩'.repeat(20_000),
    '9999-99-99T99:99:99Z',
    '0000-01-01T00:00:00+23:59',
  ),
  fc.array(fc.oneof(fc.string({ unit: 'binary' }), fc.constant(null)), { maxLength: 15 }),
  fc.jsonValue({ maxDepth: 4 }),
);

/** The value as GraphQL writes it, good or bad: keys unquoted, texts escaped as in JSON. */
export function literal(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`;
  if (typeof value === 'object' && value !== null)
    return `{${Object.entries(value)
      .map(([name, inner]) => `${name}: ${literal(inner)}`)
      .join(', ')}}`;
  return JSON.stringify(value);
}

/** JSON of arrays in arrays, or objects in objects, that deep: JSON.stringify would not get there. */
export function deepJson(depth: number, kind: 'array' | 'object'): string {
  return kind === 'array'
    ? `${'['.repeat(depth)}${']'.repeat(depth)}`
    : `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
}
