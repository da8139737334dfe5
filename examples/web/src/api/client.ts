import { createClient } from 'content-graph-client';

/** The origin of the service; empty if it is the origin of this page. */
export const API_ORIGIN = (import.meta.env.VITE_API_URL ?? '').replace(/\/$/, '');
export const GRAPHQL_URL = `${API_ORIGIN}/graphql`;

/** Signs in and out. It asks until the service responds, because the page shows nothing before. */
export const { session } = createClient({
  url: GRAPHQL_URL,
  retry: { queryBudgetMs: Number.POSITIVE_INFINITY },
});
