import type { HttpRequest, OutgoingHeaders, RequestUrl } from '../request/http-message.ts';
import type { RequestState } from '../request/request-state.ts';

/** What a plugin sees of a request on its way out. */
export type AskedRequest = Pick<HttpRequest, 'method' | 'url' | 'headers'>;

/** What a plugin sees of a response. */
export interface OutgoingResponse {
  readonly status: number;
  readonly headers: OutgoingHeaders;
}

/** A step that every request and response passes. What differs by path is in the request's route. */
export interface HttpPlugin {
  /** Throws or rejects with what the request is refused with. */
  onRequest?(request: HttpRequest, state: RequestState, url: RequestUrl): Promise<void> | void;
  onResponse?(request: AskedRequest, response: OutgoingResponse, state: RequestState, url: RequestUrl): void;
}
