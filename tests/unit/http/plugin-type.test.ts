import { describe, expect, expectTypeOf, it } from 'vitest';
import { type RequestStages, STAGES } from '../../../src/http/lifecycle.ts';
import type { HttpRequest } from '../../../src/http/message.ts';

/** Compiled with the tests: what differs here is an error of the type check. */
describe('a plugin', () => {
  it('has the stages of the list, so that any other one does not compile', () => {
    expectTypeOf<keyof RequestStages>().toEqualTypeOf<(typeof STAGES)[number]>();
    expect(STAGES).toHaveLength(new Set(STAGES).size);
  });

  it('sees of a request what every host knows', () => {
    expectTypeOf<NonNullable<RequestStages['screen']>>().parameter(0).toEqualTypeOf<HttpRequest>();
    expectTypeOf<keyof HttpRequest>().toEqualTypeOf<'method' | 'url' | 'headers' | 'arrayBuffer'>();
    expectTypeOf<keyof HttpRequest['headers']>().toEqualTypeOf<'get' | 'has' | 'keys'>();
    expectTypeOf<Request>().toExtend<HttpRequest>();
  });
});
