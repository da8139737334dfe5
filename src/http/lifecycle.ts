import type { OperationStages } from '../engine/operation/lifecycle.ts';
import { createDeadline, within } from '../platform/deadline.ts';
import { type ApiError, tryLater } from '../platform/errors.ts';
import {
  type AdmittedRequest,
  type AuthenticatedRequest,
  type CallerCredentials,
  type ClientLocation,
  type Counted,
  type FinishedRequest,
  type LocatedRequest,
  NO_CREDENTIALS,
  NOTHING_COUNTED,
  type ReceivedRequest,
  type ScreenedRequest,
} from './exchange.ts';
import type { HttpRequest, RequestUrl } from './message.ts';

/** Only this part of a request is still known when its response is sent. */
export type AskedRequest = Pick<HttpRequest, 'method' | 'url' | 'headers'>;

/** `HttpResponse` and the Response of the Fetch API both have these methods. */
export interface ResponseFields {
  get(name: string): string | null | undefined;
  has(name: string): boolean;
  set(name: string, value: string): unknown;
  delete(name: string): unknown;
}

export interface ResponseHead {
  readonly status: number;
  readonly headers: ResponseFields;
}

/** A stage before the route throws or rejects to reject the request. */
type RequestHook<Input, Output> = (
  request: HttpRequest,
  input: Input,
  url: RequestUrl,
) => Promise<Output> | Output;
type ResponseHook = (
  request: AskedRequest,
  response: ResponseHead,
  finished: FinishedRequest,
  url: RequestUrl,
) => void;

/**
 * Each stage gets the results of the stages before it. A plugin that only observes returns undefined. Differences by
 * path belong in the route.
 */
export interface RequestStages extends OperationStages {
  locate?: RequestHook<ReceivedRequest, ClientLocation | undefined>;
  /** Rejects requests that no credentials can allow. A returned rejection waits until the request is counted. */
  screen?: RequestHook<LocatedRequest, ApiError | undefined>;
  authenticate?: RequestHook<ScreenedRequest, CallerCredentials | undefined>;
  /** Counts the request. Rejects too many requests and invalid credentials. */
  limit?: RequestHook<AuthenticatedRequest, Counted | undefined>;
  schedule?: RequestHook<AdmittedRequest, void>;
  respond?: ResponseHook;
  finish?: ResponseHook;
}

/**
 * A request passes the stages in this order. The route's handler runs between `schedule` and `respond`. The handler
 * of GraphQL runs `admit`, the validation, and then `mutationField` and `execute`, or `subscribe`.
 */
export const STAGES = [
  'locate',
  'screen',
  'authenticate',
  'limit',
  'schedule',
  'admit',
  'mutationField',
  'replay',
  'execute',
  'executeMutation',
  'subscribe',
  'openStream',
  'respond',
  'finish',
] as const satisfies readonly (keyof RequestStages)[];

/** A plugin runs on the fast path, and in Yoga among the plugins of `createYoga` with `useEngine`. */
export interface ServicePlugin {
  readonly name: string;
  readonly stages: RequestStages;
}

const AFTER_ROUTE = ['respond', 'finish'] as const;

/** The hooks are ordered by stage, then by plugin. */
export function responseHooks(plugins: readonly ServicePlugin[]): readonly ResponseHook[] {
  return AFTER_ROUTE.flatMap((stage) => plugins.flatMap(({ stages }) => stages[stage] ?? []));
}

/** Only this file writes to the progress of a request. Each stage gets a separate, read-only type. */
export type RequestProgress = { -readonly [Name in keyof AdmittedRequest]: AdmittedRequest[Name] };

export const beginProgress = (received: ReceivedRequest): RequestProgress => ({
  ...received,
  clientAddress: received.peerAddress,
  forwarded: false,
  screening: undefined,
  caller: undefined,
  credentials: NO_CREDENTIALS,
  counted: NOTHING_COUNTED,
});

type Step = (request: HttpRequest, progress: RequestProgress, url: RequestUrl) => Promise<void> | void;

function stepsOf<Output>(
  hook: RequestHook<AdmittedRequest, Output | undefined> | undefined,
  write: (progress: RequestProgress, found: Output) => void,
): Step[] {
  if (hook === undefined) return [];
  const take = (progress: RequestProgress, found: Output | undefined) => {
    if (found !== undefined) write(progress, found);
  };
  return [
    (request, progress, url) => {
      const output = hook(request, progress, url);
      if (output instanceof Promise) return output.then((found) => take(progress, found));
      return take(progress, output);
    },
  ];
}

function locateClient(progress: RequestProgress, location: ClientLocation): void {
  Object.assign(progress, location);
}
function noteScreening(progress: RequestProgress, rejection: ApiError): void {
  progress.screening ??= rejection;
}
function setCaller(progress: RequestProgress, credentials: CallerCredentials): void {
  progress.credentials = credentials;
  progress.caller = credentials.caller;
}
function setCounted(progress: RequestProgress, counted: Counted): void {
  progress.counted = counted;
  if (counted.rejection !== undefined) throw counted.rejection;
}

function stepsBeforeRoute(plugins: readonly ServicePlugin[]): Step[] {
  const all = plugins.map(({ stages }) => stages);
  return [
    ...all.flatMap(({ locate }) => stepsOf(locate, locateClient)),
    ...all.flatMap(({ screen }) => stepsOf(screen, noteScreening)),
    ...all.flatMap(({ authenticate }) => stepsOf(authenticate, setCaller)),
    ...all.flatMap(({ limit }) => stepsOf(limit, setCounted)),
    ...all.flatMap(({ schedule }) => schedule ?? []),
  ];
}

/** The time limit covers all stages before the route. */
export function createStageRunner(plugins: readonly ServicePlugin[], timeoutMs: number) {
  const steps = stepsBeforeRoute(plugins);
  const deadline = createDeadline(timeoutMs);
  const tooLate = () =>
    tryLater(
      'SERVICE_UNAVAILABLE',
      `The request waited longer than ${timeoutMs} ms to be admitted. Try again.`,
    );

  /** The first step that waits starts the time limit of all following steps. */
  function runRest(first: Promise<void>, from: number, given: Parameters<Step>) {
    let isLate = false;
    const run = async () => {
      await first;
      for (const step of steps.slice(from)) {
        // The client has its response, so nothing may be counted or stored for the request.
        if (isLate) return;
        const waiting = step(...given);
        if (waiting !== undefined) await waiting;
      }
    };
    return within(deadline, run(), () => {
      isLate = true;
      return tooLate();
    });
  }

  return {
    /**
     * Runs the stages in order. Undefined means that no step has waited. The rejection is thrown or rejects the
     * promise.
     */
    run(...given: Parameters<Step>): Promise<void> | undefined {
      for (const [at, step] of steps.entries()) {
        const waiting = step(...given);
        if (waiting !== undefined) return runRest(waiting, at + 1, given);
      }
      return undefined;
    },
    /** Rejects with SERVICE_UNAVAILABLE if other work before the operation takes too long. */
    inTime: <T>(work: Promise<T>): Promise<T> => within(deadline, work, tooLate),
  };
}
