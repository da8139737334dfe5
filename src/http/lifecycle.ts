import type { OperationStages } from '../engine/operation/lifecycle.ts';
import { createDeadline, within } from '../platform/deadline.ts';
import { ApiError } from '../platform/errors.ts';
import type { RequestState } from './exchange.ts';
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

/** Throws or rejects with the refusal of the request. */
type RequestHook = (request: HttpRequest, state: RequestState, url: RequestUrl) => Promise<void> | void;
type ResponseHook = (
  request: AskedRequest,
  response: ResponseHead,
  state: RequestState,
  url: RequestUrl,
) => void;

/** The stages of a request that plugins take part in. What differs by path is in the route of the request. */
export interface RequestStages extends OperationStages {
  /** Finds the address of the client, and refuses what no credentials can allow. */
  screen?: RequestHook;
  /** Resolves credentials to the caller. A refusal waits until the request is counted. */
  authenticate?: RequestHook;
  /** Counts the request, and refuses it if there are too many or if its credentials are bad. */
  limit?: RequestHook;
  /** Waits for the turn of the caller. */
  schedule?: RequestHook;
  /** Sets headers of the response, whatever it is. */
  respond?: ResponseHook;
  /** Logs and counts the request. */
  finish?: ResponseHook;
}

/**
 * All stages, in the order in which a request passes them. The answer of its route is between `schedule` and `respond`: for
 * GraphQL these are `admit`, then validation, then `mutationField` and `execute`, or `subscribe`.
 */
export const STAGES = [
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

const BEFORE_ROUTE = ['screen', 'authenticate', 'limit', 'schedule'] as const;
const AFTER_ROUTE = ['respond', 'finish'] as const;

/** The hooks that plugins have for the stages after the route, stage by stage. */
export function responseHooks(plugins: readonly ServicePlugin[]): readonly ResponseHook[] {
  return AFTER_ROUTE.flatMap((stage) => plugins.flatMap(({ stages }) => stages[stage] ?? []));
}

/** Runs the stages of a request before its route, within a time limit. */
export function createRequestHooks(plugins: readonly ServicePlugin[], timeoutMs: number) {
  const hooks = BEFORE_ROUTE.flatMap((stage) => plugins.flatMap(({ stages }) => stages[stage] ?? []));
  const deadline = createDeadline(timeoutMs);
  const tooLate = () =>
    new ApiError('SERVICE_UNAVAILABLE', `The request could not be admitted within ${timeoutMs} ms.`, {
      headers: { 'retry-after': '1' },
    });

  /** The first hook that waits starts the time limit of all that follow. */
  function runRest(first: Promise<void>, from: number, given: Parameters<RequestHook>) {
    let isLate = false;
    const run = async () => {
      await first;
      for (const hook of hooks.slice(from)) {
        // The client has its response: nothing may be counted or kept for the request any more.
        if (isLate) return;
        const waiting = hook(...given);
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
     * Runs the hooks in order. Hooks that return nothing are not awaited, and undefined says that no hook waits. Throws or
     * rejects with a refusal.
     */
    run(...given: Parameters<RequestHook>): Promise<void> | undefined {
      for (const [at, hook] of hooks.entries()) {
        const waiting = hook(...given);
        if (waiting !== undefined) return runRest(waiting, at + 1, given);
      }
      return undefined;
    },
    /** Rejects with SERVICE_UNAVAILABLE if other work before the operation takes too long. */
    inTime: <T>(work: Promise<T>): Promise<T> => within(deadline, work, tooLate),
  };
}
