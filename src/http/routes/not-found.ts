import type { Route } from '../../request/request-state.ts';
import { pageErrorsTo } from '../pages/error-page.ts';
import { html } from '../pages/html.ts';
import { ACCOUNT, HOME, NOTHING } from './table.ts';

/** Where people can go on, in the order in which it helps, as far as a service has it. */
const PLACES = [
  { path: HOME, name: 'Go to the start page' },
  { path: ACCOUNT, name: 'Go to your account' },
];

/** The route of paths at which there is nothing: JSON for programs, and a page for browsers, which leads on. */
export function nothingRoute(routes: readonly Route[]): Route {
  const place = PLACES.find(({ path }) => routes.some((route) => route.path === path));
  const onwards = place && html`<a href="${place.path}">${place.name}</a>`;
  const route: Route = { ...NOTHING, varies: ['Accept'] };
  return { ...route, page: { ...route, errors: pageErrorsTo(onwards) } };
}
