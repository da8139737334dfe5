import { describe, expectTypeOf, it } from 'vitest';
import type { HttpPlugin } from '../../../src/http/lifecycle.ts';
import type { HttpRequest } from '../../../src/http/message.ts';

/** Compiled with the tests: what differs here is an error of the type check. */
describe('a plugin', () => {
  it('has the hooks that every way in calls, so that any other one does not compile', () => {
    expectTypeOf<keyof HttpPlugin>().toEqualTypeOf<'onRequest' | 'onResponse'>();
  });

  it('sees of a request what every way in knows', () => {
    expectTypeOf<NonNullable<HttpPlugin['onRequest']>>().parameter(0).toEqualTypeOf<HttpRequest>();
    expectTypeOf<keyof HttpRequest>().toEqualTypeOf<'method' | 'url' | 'headers' | 'arrayBuffer'>();
    expectTypeOf<keyof HttpRequest['headers']>().toEqualTypeOf<'get' | 'has' | 'keys'>();
    expectTypeOf<Request>().toExtend<HttpRequest>();
  });
});
