import { randomUUID } from 'node:crypto';
import { error, fail, redirect } from '@sveltejs/kit';
import { isContentGraphError } from 'content-graph-client';
import { CREATE_POST, PAGE } from '../posts.ts';
import type { Actions, PageServerLoad } from './$types';

export const load: PageServerLoad = async ({ locals: { client }, setHeaders }) => {
  try {
    const snapshot = await client.snapshot(PAGE, { after: null });
    const identity = snapshot.data.viewer.id;
    return { page: { initial: { ...snapshot, identity }, key: randomUUID() } };
  } catch (reason) {
    if (isContentGraphError(reason, 'UNAUTHENTICATED')) return { page: undefined };
    if (!isContentGraphError(reason)) throw reason;
    setHeaders({ 'retry-after': '5' });
    error(503, 'The posts are not available. Try again in a few seconds.');
  }
};

async function readForm(request: Request): Promise<Record<string, string>> {
  const entries = [...(await request.formData())];
  return Object.fromEntries(entries.map(([name, value]) => [name, String(value)]));
}

/** The page shows the message and the values again. */
function toFailure(reason: unknown, values: { email?: string; title?: string; body?: string; key?: string }) {
  if (!isContentGraphError(reason)) throw reason;
  const { code, httpStatus = 503 } = reason;
  const message = code === 'RATE_LIMITED' ? 'Too many attempts. Try again later.' : reason.message;
  return fail(Math.max(httpStatus, 400), { message, ...values });
}

export const actions: Actions = {
  async signIn({ request, locals: { client } }) {
    const { email = '', password = '' } = await readForm(request);
    try {
      await client.session.signIn(email, password);
    } catch (reason) {
      return toFailure(reason, { email });
    }
    redirect(303, '/');
  },
  async signOut({ locals: { client } }) {
    await client.session.signOut();
    redirect(303, '/');
  },
  async write({ request, locals: { client } }) {
    const { title = '', body = '', key = '' } = await readForm(request);
    try {
      // The key is part of the form, so sending the form again creates no second post.
      await client.mutate(CREATE_POST, { title, body }, { key });
      return undefined;
    } catch (reason) {
      return toFailure(reason, { title, body, key });
    }
  },
};
