import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ListOrder } from '../../../../src/engine/queries/entity.ts';
import { decodeCursor, encodeCursor } from '../../../../src/engine/queries/pagination.ts';
import { ApiError } from '../../../../src/platform/errors.ts';

const position = fc.record({
  createdAt: fc.date({
    min: new Date('0000-01-01T00:00:00.000Z'),
    max: new Date('9999-12-31T23:59:59.999Z'),
    noInvalidDate: true,
  }),
  id: fc.uuid(),
});

function rejectionOf(cursor: string, order?: ListOrder): ApiError {
  try {
    decodeCursor('after', cursor, order);
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
  throw new Error(`"${cursor}" was taken`);
}

function expectRejected(cursor: string, order?: ListOrder): void {
  const { code, extensions, message } = rejectionOf(cursor, order);
  expect(code).toBe('BAD_USER_INPUT');
  expect(extensions.argument).toBe('after');
  expect(message).toContain('"after"');
}

describe('a cursor', () => {
  it('leads back to its place, to the millisecond', () => {
    fc.assert(
      fc.property(position, (place) => {
        expect(decodeCursor('after', encodeCursor(place))).toEqual({ at: place.createdAt, id: place.id });
      }),
    );
  });

  const ORDERS = [undefined, 'newest-first', 'oldest-first', 'recently-updated'] as const;

  it('carries its order, and is rejected in every other order', () => {
    fc.assert(
      fc.property(
        position,
        fc.date({ noInvalidDate: true, min: new Date(0), max: new Date(8e13) }),
        (place, updatedAt) => {
          for (const order of ORDERS) {
            const cursor = encodeCursor({ ...place, updatedAt }, order);
            const at = order === 'recently-updated' ? updatedAt : place.createdAt;
            expect(decodeCursor('after', cursor, order)).toEqual({ at, id: place.id });
            for (const other of ORDERS.filter((one) => one !== order)) expectRejected(cursor, other);
          }
        },
      ),
    );
  });

  it('is 36 characters that need no escaping in an address', () => {
    fc.assert(
      fc.property(position, (place) => {
        expect(encodeCursor(place)).toMatch(/^[\w-]{36}$/);
      }),
    );
  });

  it('still means the same after a restart or an update: the form is fixed', () => {
    const place = {
      createdAt: new Date('2026-11-21T09:30:00.123Z'),
      id: '019aa5f2-7c1b-7e3d-8f00-0123456789ab',
    };
    expect(encodeCursor(place)).toBe('AQAAAaH9cPI7AZql8nwbfj2PAAEjRWeJq22b');
  });

  it('that somebody else made is rejected by name', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => expectRejected(text)));
    fc.assert(fc.property(fc.base64String(), (text) => expectRejected(text)));
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 27, maxLength: 27 }), (bytes) => {
        // The check is 16 bits wide: some bytes do fit by chance, and mean a place then.
        const cursor = Buffer.from(bytes).toString('base64url');
        try {
          decodeCursor('after', cursor);
        } catch (error) {
          expect(error).toBeInstanceOf(ApiError);
        }
      }),
    );
  });

  it('with one character changed, less or more is rejected', () => {
    const character = fc.constantFrom(
      ...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_+/= ',
    );
    fc.assert(
      fc.property(position, fc.nat({ max: 35 }), character, (place, at, other) => {
        const cursor = encodeCursor(place);
        fc.pre(cursor[at] !== other);
        expectRejected(cursor.slice(0, at) + other + cursor.slice(at + 1));
      }),
    );
    const cursor = encodeCursor({ createdAt: new Date(0), id: '019aa5f2-7c1b-7e3d-8f00-0123456789ab' });
    for (const text of ['', cursor.slice(1), cursor.slice(0, -1), `${cursor}A`, `${cursor}=`, ` ${cursor}`])
      expectRejected(text);
  });
});
