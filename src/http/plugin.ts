import type { DepartingHeaders, HttpRequest, HttpResponse, RequestUrl } from '../request/http-message.ts';
import type { RequestState } from '../request/request-state.ts';

/** A request on its way in, which a plugin may end. */
export interface ArrivingRequest {
  readonly request: HttpRequest;
  readonly url: RequestUrl;
  readonly state: RequestState;
  endResponse(response: HttpResponse): void;
}

/** A response on its way out. */
export interface DepartingResponse {
  readonly request: Pick<HttpRequest, 'method' | 'url' | 'headers'>;
  readonly response: { readonly status: number; readonly headers: DepartingHeaders };
  readonly state: RequestState;
}

/** What meets a request and its response, by whichever way they go: there is no other hook that all ways have. */
export interface HttpPlugin {
  onRequest?(arriving: ArrivingRequest): Promise<void> | void;
  onResponse?(departing: DepartingResponse): void;
}
