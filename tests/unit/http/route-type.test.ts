import { describe, expectTypeOf, it } from 'vitest';
import type { Route } from '../../../src/http/exchange.ts';
import { PUBLIC_ROUTE } from '../../../src/http/routes/table.ts';

/** Compiled with the tests: what differs here is an error of the type check. */
describe('a route', () => {
  it('has every property', () => {
    expectTypeOf<Required<Route>>().toEqualTypeOf<Route>();
  });

  it('does not compile without one', () => {
    const { needsTls, ...others } = PUBLIC_ROUTE;
    const complete: Route = { ...others, needsTls, path: '/', handler: async () => undefined };
    // @ts-expect-error: it does not say whether it needs TLS.
    const incomplete: Route = { ...others, path: '/', handler: async () => undefined };
    expectTypeOf(complete).toEqualTypeOf(incomplete);
  });
});
