import { createYoga, type Plugin, type YogaServerInstance } from 'graphql-yoga';
import {
  asResponse,
  type HttpRequest,
  type HttpResponse,
  type RequestUrl,
} from '../../request/http-message.ts';
import type { RequestState } from '../../request/request-state.ts';
import type { HttpPlugin } from '../plugin.ts';

/** What Yoga carries along with a request. */
export interface Travelling {
  readonly state: RequestState;
  readonly url: RequestUrl;
}

export interface YogaOptions {
  /** Never rejects. */
  readonly answer: (request: HttpRequest, state: RequestState, url: RequestUrl) => Promise<HttpResponse>;
  readonly depart: NonNullable<HttpPlugin['onResponse']>;
}

/** Yoga's HTTP handling around our own answers. It only knows Fetch API responses. */
export function createYogaServer({ answer, depart }: YogaOptions): YogaServerInstance<Travelling, object> {
  const plugin: Plugin<object, Travelling> = {
    async onRequest({ request, serverContext: { state, url }, endResponse }) {
      endResponse(asResponse(await answer(request, state, url)));
    },
    onResponse({ request, response, serverContext: { state, url } }) {
      depart(request, response, state, url);
    },
  };
  return createYoga<Travelling, object>({
    logging: false,
    graphiql: false,
    landingPage: false,
    // Yoga answers every URL with this suffix. The check cannot be disabled, so use a suffix that no request
    // line can contain.
    healthCheckEndpoint: '\n',
    cors: false,
    plugins: [plugin],
  });
}
