import type { Route, RouteProperties } from '../../http/exchange.ts';
import { html, pageErrors, pageErrorsTo, seeOther } from '../../http/html/page.ts';
import { ACCOUNT, CREDENTIAL_ROUTE, PUBLIC_ROUTE } from '../../http/routes/table.ts';
import type { CreateFeature } from '../feature.ts';
import type { AccountServices } from './account-data.ts';
import { createAccountHandler } from './account-handler.ts';
import { createLinkHandler } from './link-handler.ts';
import { ACCOUNT_PATHS, PASSWORD_FORM } from './paths.ts';

/** For pages of one person: no cache keeps them, no page of another site frames or reads them. */
const PAGE: RouteProperties = {
  ...CREDENTIAL_ROUTE,
  methods: ['GET'],
  readsBody: false,
  bucket: 'pages',
  cors: false,
  documentOnly: true,
  errors: pageErrors,
};

/** The routes that the pages of accounts bring to a server. */
const createRoutes = (services: AccountServices): Route[] => [
  {
    ...PAGE,
    path: ACCOUNT,
    methods: ['GET', 'POST'],
    readsBody: true,
    credentials: 'session',
    originCheck: 'own',
    errors: pageErrorsTo(html`<a href="${ACCOUNT}">Your account</a>`),
    handler: createAccountHandler(services),
  },
  {
    ...PAGE,
    path: ACCOUNT_PATHS.password,
    methods: ['GET', 'POST'],
    readsBody: true,
    // The token in the address is what counts, and it is checked by the route.
    credentials: 'own',
    originCheck: 'none',
    errors(error, state, log) {
      const response = pageErrors(error, state, log);
      response.headers.set('referrer-policy', 'no-referrer');
      return response;
    },
    handler: createLinkHandler(services),
  },
  {
    ...PUBLIC_ROUTE,
    path: ACCOUNT_PATHS.changePassword,
    handler: async () => seeOther(`${ACCOUNT}#${PASSWORD_FORM}`),
  },
];

export const createAccountPages: CreateFeature = (services) => ({
  authStrategies: [],
  routes: (needed) => createRoutes({ ...services, ...needed }),
});
