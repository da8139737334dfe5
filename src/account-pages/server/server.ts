import type { CreateFeature } from '../../feature.ts';
import { linkAnswers } from './link-answers.ts';
import { accountRoutes } from './routes.ts';

/** What the pages of accounts bring to a server. */
export const createServer: CreateFeature = ({ database }) => ({
  recognizers: [],
  routes: (services) => accountRoutes(linkAnswers({ database, ...services })),
});
