import type { Route, RouteProperties } from '../../http/exchange.ts';
import { html, pageErrors, pageErrorsTo, seeOther } from '../../http/html/page.ts';
import { ACCOUNT, CREDENTIAL_ROUTE, PUBLIC_ROUTE } from '../../http/routes/table.ts';
import type { CreateFeature } from '../feature.ts';
import type { AccountServices } from './account-data.ts';
import { createAccountHandler } from './account-handler.ts';
import { createLinkHandler } from './link-handler.ts';
import { ACCOUNT_PATHS, PASSWORD_FORM } from './paths.ts';

/** The pages show data of one person, so no cache stores them and no other site frames or reads them. */
const PAGE: RouteProperties = {
  ...CREDENTIAL_ROUTE,
  methods: ['GET'],
  readsBody: false,
  bucket: 'pages',
  cors: false,
  documentOnly: true,
  errors: pageErrors,
};

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
    // The route itself checks the token in the URL.
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
