import { expectTypeOf, it } from 'vitest';
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
it('The stages of a request hand on what the head says, and what each stage finds', () => {
  type Finished = Admitted | 'errorCodes' | 'operation' | 'cacheControl';
  expectTypeOf<keyof ReceivedRequest>().toEqualTypeOf<Received>();
  expectTypeOf<ReceivedRequest>().toEqualTypeOf<Readonly<Required<ReceivedRequest>>>();
  expectTypeOf<keyof LocatedRequest>().toEqualTypeOf<Located>();
  expectTypeOf<LocatedRequest>().toEqualTypeOf<Readonly<Required<LocatedRequest>>>();
  expectTypeOf<keyof ScreenedRequest>().toEqualTypeOf<Screened>();
  expectTypeOf<ScreenedRequest>().toEqualTypeOf<Readonly<Required<ScreenedRequest>>>();
  expectTypeOf<keyof AuthenticatedRequest>().toEqualTypeOf<Authenticated>();
  expectTypeOf<AuthenticatedRequest>().toEqualTypeOf<Readonly<Required<AuthenticatedRequest>>>();
  expectTypeOf<keyof AdmittedRequest>().toEqualTypeOf<Admitted>();
  expectTypeOf<AdmittedRequest>().toEqualTypeOf<Readonly<Required<AdmittedRequest>>>();
  expectTypeOf<keyof FinishedRequest>().toEqualTypeOf<Finished>();
  expectTypeOf<FinishedRequest>().toEqualTypeOf<Readonly<Required<FinishedRequest>>>();
});

type Selected = 'operation' | 'published';
type Measured = Selected | 'cost' | 'shownCost';
type Allowed = Measured | 'showsEventId' | 'visibleHeartbeats';
type Validated = Allowed | 'deprecated' | 'showsDeprecations';

it('The stages of an operation hand on the document, and what each stage finds', () => {
  expectTypeOf<keyof RequestedDocument>().toEqualTypeOf<'document' | 'published'>();
  expectTypeOf<RequestedDocument>().toEqualTypeOf<Readonly<Required<RequestedDocument>>>();
  expectTypeOf<keyof SelectedOperation>().toEqualTypeOf<Selected>();
  expectTypeOf<keyof MeasuredOperation>().toEqualTypeOf<Measured>();
  expectTypeOf<MeasuredOperation>().toEqualTypeOf<Readonly<Required<MeasuredOperation>>>();
  expectTypeOf<keyof AdmittedOperation>().toEqualTypeOf<Allowed>();
  expectTypeOf<AdmittedOperation>().toEqualTypeOf<Readonly<Required<AdmittedOperation>>>();
  expectTypeOf<keyof ValidatedOperation>().toEqualTypeOf<Validated>();
  expectTypeOf<ValidatedOperation>().toEqualTypeOf<Readonly<Required<ValidatedOperation>>>();
  expectTypeOf<keyof OperationResult>().toEqualTypeOf<'outcome' | 'reached' | 'effects'>();
  expectTypeOf<OperationResult>().toEqualTypeOf<Readonly<Required<OperationResult>>>();
});
