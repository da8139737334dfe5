import { describe, expectTypeOf, it } from 'vitest';
import type {
  AdmittedOperation,
  MeasuredOperation,
  RequestedDocument,
  SelectedOperation,
  ValidatedOperation,
} from '../../src/engine/documents/operation-stages.ts';
import type { OperationResult } from '../../src/engine/operation/operation-result.ts';
import type {
  AdmittedRequest,
  AuthenticatedRequest,
  FinishedRequest,
  LocatedRequest,
  ReceivedRequest,
  ScreenedRequest,
} from '../../src/http/exchange.ts';

type Head = 'requestId' | 'route' | 'startedAtMs' | 'peerAddress' | 'fast' | 'headOnly' | 'allowUnverified';
type Arrived = 'rejection' | 'malformed' | 'connection' | 'disconnectSignal' | 'reservation' | 'body';
type Received = Head | Arrived | 'mediaType' | 'streamType' | 'trace' | 'work';
type Located = Received | 'clientAddress' | 'forwarded';
type Screened = Located | 'screening';
type Authenticated = Screened | 'caller' | 'credentials';
type Admitted = Authenticated | 'counted';

/**
 * Compiled with the tests: what differs here is an error of the type check. A new member belongs to the first stage that can
 * know it. A member that one stage writes and a later one reads is never optional, so that no stage can forget it.
 */
describe('The stages of a request hand on', () => {
  it('what the head says', () => {
    expectTypeOf<keyof ReceivedRequest>().toEqualTypeOf<Received>();
    expectTypeOf<ReceivedRequest>().toEqualTypeOf<Readonly<Required<ReceivedRequest>>>();
  });

  it('the location of the client', () => {
    expectTypeOf<keyof LocatedRequest>().toEqualTypeOf<Located>();
    expectTypeOf<LocatedRequest>().toEqualTypeOf<Readonly<Required<LocatedRequest>>>();
  });

  it('a rejection that waits until the request is counted', () => {
    expectTypeOf<keyof ScreenedRequest>().toEqualTypeOf<Screened>();
    expectTypeOf<ScreenedRequest>().toEqualTypeOf<Readonly<Required<ScreenedRequest>>>();
  });

  it('the caller', () => {
    expectTypeOf<keyof AuthenticatedRequest>().toEqualTypeOf<Authenticated>();
    expectTypeOf<AuthenticatedRequest>().toEqualTypeOf<Readonly<Required<AuthenticatedRequest>>>();
  });

  it('what the rate limit has counted', () => {
    expectTypeOf<keyof AdmittedRequest>().toEqualTypeOf<Admitted>();
    expectTypeOf<AdmittedRequest>().toEqualTypeOf<Readonly<Required<AdmittedRequest>>>();
  });

  it('what the response is about', () => {
    type Finished = Admitted | 'errorCodes' | 'operation' | 'cacheControl';
    expectTypeOf<keyof FinishedRequest>().toEqualTypeOf<Finished>();
    expectTypeOf<FinishedRequest>().toEqualTypeOf<Readonly<Required<FinishedRequest>>>();
  });
});

type Selected = 'operation' | 'published';
type Measured = Selected | 'cost' | 'shownCost';
type Allowed = Measured | 'showsEventId' | 'visibleHeartbeats';
type Validated = Allowed | 'deprecated' | 'showsDeprecations';

describe('The stages of an operation hand on', () => {
  it('the document', () => {
    expectTypeOf<keyof RequestedDocument>().toEqualTypeOf<'document' | 'published'>();
    expectTypeOf<RequestedDocument>().toEqualTypeOf<Readonly<Required<RequestedDocument>>>();
  });

  it('the operation and its cost', () => {
    expectTypeOf<keyof SelectedOperation>().toEqualTypeOf<Selected>();
    expectTypeOf<keyof MeasuredOperation>().toEqualTypeOf<Measured>();
    expectTypeOf<MeasuredOperation>().toEqualTypeOf<Readonly<Required<MeasuredOperation>>>();
  });

  it('what the client asks for', () => {
    expectTypeOf<keyof AdmittedOperation>().toEqualTypeOf<Allowed>();
    expectTypeOf<AdmittedOperation>().toEqualTypeOf<Readonly<Required<AdmittedOperation>>>();
  });

  it('a valid operation', () => {
    expectTypeOf<keyof ValidatedOperation>().toEqualTypeOf<Validated>();
    expectTypeOf<ValidatedOperation>().toEqualTypeOf<Readonly<Required<ValidatedOperation>>>();
  });

  it('the outcome', () => {
    expectTypeOf<keyof OperationResult>().toEqualTypeOf<'outcome' | 'reached' | 'effects'>();
    expectTypeOf<OperationResult>().toEqualTypeOf<Readonly<Required<OperationResult>>>();
  });
});
