import type { ContentGraphError, SessionUser } from 'content-graph-client';
import { html, nothing, type TemplateResult } from 'lit-html';
import { session } from '../api/client.ts';
import { errorOf } from '../api/failure.ts';
import { describeError, failureNotice } from '../parts/notice.ts';
import type { Screen } from './screen.ts';

export interface SignInOptions {
  /** Why the user has to sign in. */
  readonly reason: string | undefined;
  readonly onSignedIn: (user: SessionUser) => void;
  readonly update: () => void;
}

/** The words for an error at this form. */
function describe(error: ContentGraphError): string {
  if (error.code === 'UNAUTHENTICATED') return error.message;
  return error.httpStatus === 429 ? 'Too many attempts.' : describeError(error);
}

export function createSignIn({ reason, onSignedIn, update }: SignInOptions): Screen {
  let isBusy = false;
  let error: ContentGraphError | undefined;
  /** Until then, the service rejects every attempt. */
  let untilMs: number | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;

  function show(next: ContentGraphError | undefined): void {
    error = next;
    clearTimeout(timer);
    const { retryAfterMs } = next ?? {};
    untilMs = retryAfterMs && Date.now() + retryAfterMs;
    if (retryAfterMs !== undefined) timer = setTimeout(() => show(undefined), retryAfterMs);
    update();
  }

  async function submit(event: SubmitEvent): Promise<void> {
    event.preventDefault();
    const form = event.currentTarget;
    if (isBusy || !(form instanceof HTMLFormElement)) return;
    const data = new FormData(form);
    isBusy = true;
    show(undefined);
    try {
      onSignedIn(await session.signIn(String(data.get('email')), String(data.get('password'))));
    } catch (caught) {
      show(errorOf(caught));
      form.querySelector<HTMLElement>('[name=password]')?.focus();
    } finally {
      isBusy = false;
      update();
    }
  }

  /** Does not send by itself: the password may be a wrong one. */
  function notice(): TemplateResult | typeof nothing {
    if (error === undefined) return nothing;
    if (untilMs === undefined) return failureNotice({ error }, undefined, describe(error));
    return html`<div class="notice bad" role="alert">
      <p>${describe(error)} Try again in <count-down .until=${untilMs}></count-down>.</p>
    </div>`;
  }

  return {
    title: 'Sign in',
    dispose: () => clearTimeout(timer),
    render: () => html`<div class="sign-in card">
      <h1 tabindex="-1">Sign in</h1>
      <p class="soft">Read, write and follow posts as they are written.</p>
      ${reason === undefined ? nothing : html`<p class="notice">${reason}</p>`}
      <form @submit=${submit}>
        <div class="field">
          <label for="email">E-mail</label>
          <input id="email" name="email" type="email" autocomplete="username" required ?readonly=${isBusy} />
        </div>
        <div class="field">
          <label for="password">Password</label>
          <input id="password" name="password" type="password" autocomplete="current-password" required
            ?readonly=${isBusy} />
        </div>
        ${notice()}
        <button class="primary wide" ?disabled=${untilMs !== undefined} aria-busy=${isBusy}>
          ${isBusy ? 'Signing in…' : 'Sign in'}
        </button>
      </form>
      <div class="demo">
        <h2>Demo accounts</h2>
        <p><code>ada@example.com</code> <code>linus@example.com</code> <code>grace@example.com</code></p>
        <p>They share one password. <code>npm start</code> prints it, and it is in <code>.data/demo.json</code>.</p>
      </div>
    </div>`,
  };
}
