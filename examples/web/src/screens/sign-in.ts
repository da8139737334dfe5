import { html, nothing, type TemplateResult } from 'lit-html';
import { type Problem, problemIn } from '../api/problem.ts';
import { logIn, type User } from '../api/session.ts';
import { problemNotice } from '../parts/notice.ts';
import type { Screen } from './screen.ts';

export interface SignInOptions {
  /** Why the user has to sign in. */
  readonly reason: string | undefined;
  readonly onSignedIn: (user: User) => void;
  readonly update: () => void;
}

/** The words for a problem at this form. */
function told(problem: Problem): Problem {
  if (problem.kind !== 'rate-limited') return problem;
  return { ...problem, message: 'Too many attempts.' };
}

export function createSignIn({ reason, onSignedIn, update }: SignInOptions): Screen {
  let isBusy = false;
  let problem: Problem | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;

  function show(found: Problem): void {
    problem = told(found);
    clearTimeout(timer);
    if (found.retryAtMs !== undefined)
      timer = setTimeout(() => {
        problem = undefined;
        update();
      }, found.retryAtMs - Date.now());
  }

  async function submit(event: SubmitEvent): Promise<void> {
    event.preventDefault();
    const form = event.currentTarget;
    if (isBusy || !(form instanceof HTMLFormElement)) return;
    const data = new FormData(form);
    isBusy = true;
    problem = undefined;
    update();
    try {
      onSignedIn(await logIn(String(data.get('email')), String(data.get('password'))));
    } catch (error) {
      show(problemIn(error));
      form.querySelector<HTMLElement>('[name=password]')?.focus();
    } finally {
      isBusy = false;
      update();
    }
  }

  /** Does not send by itself: the password may be a wrong one. */
  function notice(): TemplateResult | typeof nothing {
    if (problem === undefined) return nothing;
    const { retryAtMs, ...rest } = problem;
    if (retryAtMs === undefined) return problemNotice(rest);
    return html`<div class="notice bad" role="alert" data-problem=${problem.kind}>
      <p>${problem.message} Try again in <count-down .until=${retryAtMs}></count-down>.</p>
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
        <button class="primary wide" ?disabled=${problem?.retryAtMs !== undefined} aria-busy=${isBusy}>
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
