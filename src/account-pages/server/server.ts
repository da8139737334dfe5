import type { CreateFeature } from '../../feature.ts';
import { accountAnswer } from './account-answer.ts';
import { linkAnswers } from './link-answers.ts';
import { accountRoutes } from './routes.ts';

/** What the pages of accounts bring to a server. */
export const createServer: CreateFeature = ({ database, clock, log }) => ({
  recognizers: [],
  routes: (services) =>
    accountRoutes({
      account: accountAnswer({ database, clock, log, ...services }),
      ...linkAnswers({ database, ...services }),
    }),
});
