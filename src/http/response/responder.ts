import type { GraphQLError } from 'graphql';
import { publicError } from '../../graphql/mask-error.ts';
import {
  type CostCeilings,
  errorsOf,
  type Outcome,
  type Single,
  type StreamEvent,
  textOf,
} from '../../operation/outcome.ts';
import { statusOf } from '../../operation/response-status.ts';
import { holderOf } from '../../request/caller.ts';
import { type HttpResponse, PlainResponse } from '../../request/http-message.ts';
import type { RequestState } from '../../request/request-state.ts';
import { eventStream } from './sse.ts';

/** Turns the outcome of an operation into a response of the media type that the client asked for. */
export type Responder = (outcome: Outcome, state: RequestState) => HttpResponse;

async function* once(outcome: Single): AsyncGenerator<StreamEvent, void, undefined> {
  yield { id: undefined, outcome };
}

function headersOf(errors: readonly GraphQLError[]): Record<string, string> {
  return Object.assign({}, ...errors.map((error) => publicError(error).headers));
}

export function createResponder(limits: CostCeilings): Responder {
  return (outcome, state) => {
    const { mediaType = 'application/json', cost, stop, hold } = state;
    const told = { cost, limits };
    const stream = (events: AsyncGenerator<StreamEvent, void, undefined>, startId?: string) => {
      hold.countFor(holderOf(state));
      return eventStream(events, { stop, startId, toText: (single) => textOf(single, told) });
    };
    if (outcome.kind === 'stream') return stream(outcome.events, outcome.startId);
    const errors = errorsOf(outcome);
    if (errors.length > 0) state.errorCodes = errors.map((error) => publicError(error).code);
    const status = statusOf(outcome, mediaType);
    if (mediaType === 'text/event-stream' && status === 200) return stream(once(outcome));
    const contentType = mediaType === 'text/event-stream' ? 'application/json' : mediaType;
    const headers: Record<string, string> = errors.length === 0 ? {} : headersOf(errors);
    headers['content-type'] = `${contentType}; charset=utf-8`;
    return new PlainResponse(textOf(outcome, told), { status, headers });
  };
}
