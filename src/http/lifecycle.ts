import type { OperationStages } from '../engine/operation/lifecycle.ts';
import { createDeadline, within } from '../platform/deadline.ts';
import { ApiError } from '../platform/errors.ts';
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

/** The part of a request that is still known when its response goes out. */
export type AskedRequest = Pick<HttpRequest, 'method' | 'url' | 'headers'>;

/** The header fields of a response, which `HttpResponse` and the Response of the Fetch API both have. */
export interface ResponseFields {
  get(name: string): string | null | undefined;
  has(name: string): boolean;
  set(name: string, value: string): unknown;
  delete(name: string): unknown;
}

/** The part of a response that plugins see. */
export interface ResponseHead {
  readonly status: number;
  readonly headers: ResponseFields;
}

/** A stage before the route. Throws or rejects with the rejection of the request. */
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
 * The stages of a request that plugins take part in. Each stage gets what the stages before it have found, and returns what
 * it finds, or undefined if the plugin only observes. What differs by path is in the route of the request.
 */
export interface RequestStages extends OperationStages {
  /** Finds the IP address of the client. */
  locate?: RequestHook<ReceivedRequest, ClientLocation | undefined>;
  /** Rejects what no credentials can allow. A returned rejection waits until the request is counted. */
  screen?: RequestHook<LocatedRequest, ApiError | undefined>;
  /** Resolves credentials to the caller. */
  authenticate?: RequestHook<ScreenedRequest, CallerCredentials | undefined>;
  /** Counts the request, and rejects it if there are too many or if its credentials are bad. */
  limit?: RequestHook<AuthenticatedRequest, Counted | undefined>;
  /** Waits for a time slice of the event loop. */
  schedule?: RequestHook<AdmittedRequest, void>;
  /** Sets headers of the response, whatever it is. */
  respond?: ResponseHook;
  /** Logs and counts the request. */
  finish?: ResponseHook;
}

/**
 * All stages, in the order in which a request passes them. The handler of its route runs between `schedule` and `respond`: for
 * GraphQL these are `admit`, then validation, then `mutationField` and `execute`, or `subscribe`.
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

/** A plugin of the service. It runs on the direct path, and in Yoga among the plugins of `createYoga` with `useEngine`. */
export interface ServicePlugin {
  readonly name: string;
  readonly stages: RequestStages;
}

const AFTER_ROUTE = ['respond', 'finish'] as const;

/** The hooks that plugins have for the stages after the route, stage by stage. */
export function responseHooks(plugins: readonly ServicePlugin[]): readonly ResponseHook[] {
  return AFTER_ROUTE.flatMap((stage) => plugins.flatMap(({ stages }) => stages[stage] ?? []));
}

/** What is known of a request so far. Only this file writes to it; each stage gets its own type. */
export type RequestProgress = { -readonly [Name in keyof AdmittedRequest]: AdmittedRequest[Name] };

/** @returns the progress of a request before its first stage */
export const beginProgress = (received: ReceivedRequest): RequestProgress => ({
  ...received,
  clientAddress: received.peerAddress,
  forwarded: false,
  screening: undefined,
  caller: undefined,
  credentials: NO_CREDENTIALS,
  counted: NOTHING_COUNTED,
});

/** Runs a hook and writes what the hook finds. Returns a promise only if the hook waits. */
type Step = (request: HttpRequest, progress: RequestProgress, url: RequestUrl) => Promise<void> | void;

/** @returns the step of a hook, if there is one; `write` takes what the hook finds */
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

/** What the runner writes for each stage. */
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

/** @returns the steps before the route, stage by stage */
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

/** Runs the stages of a request before its route, within a time limit. */
export function createStageRunner(plugins: readonly ServicePlugin[], timeoutMs: number) {
  const steps = stepsBeforeRoute(plugins);
  const deadline = createDeadline(timeoutMs);
  const tooLate = () =>
    new ApiError(
      'SERVICE_UNAVAILABLE',
      `The request waited longer than ${timeoutMs} ms to be admitted. Try again.`,
      {
        headers: { 'retry-after': '1' },
      },
    );

  /** The first step that waits starts the time limit of all steps that follow. */
  function runRest(first: Promise<void>, from: number, given: Parameters<Step>) {
    let isLate = false;
    const run = async () => {
      await first;
      for (const step of steps.slice(from)) {
        // The client has its response: nothing may be counted or stored for the request any more.
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
     * Runs the stages in order. Steps that do not wait are not awaited; undefined means that no step has waited. Throws or
     * rejects with the rejection of the request.
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
