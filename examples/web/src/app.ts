import type { CallOptions, SessionUser } from 'content-graph-client';
import { html, nothing, render, type TemplateResult } from 'lit-html';
import { watchAccount } from './account.ts';
import { API_ORIGIN } from './api/client.ts';
import { createCall, type Failure } from './api/failure.ts';
import { announce } from './parts/announce.ts';
import { avatar } from './parts/byline.ts';
import { keepFocus } from './parts/keep-focus.ts';
import { describeError, failureNotice } from './parts/notice.ts';
import { draftsPath, listPath, newPath, type Route, routeOf } from './router.ts';
import type { Screen } from './screens/screen.ts';
import { createSignIn } from './screens/sign-in.ts';
import { openWorkspace, type Workspace } from './workspace.ts';

const ENDED = 'Your session has ended. Sign in to go on: what you have typed is kept.';

/** After a logout in another tab, either that tab or a refused request is the first to tell. */
const REASONS = { start: undefined, here: 'You are signed out.', elsewhere: ENDED, ended: ENDED } as const;

/** Shows the page in an element, for as long as it is open. */
export function startApp(root: HTMLElement): void {
  let workspace: Workspace | undefined;
  let signIn: Screen | undefined;
  let notice: string | undefined;
  let leaving = createCall(signOut, update);
  let rendering: Promise<void> | undefined;

  /** Changes of one task are rendered together. */
  function update(): Promise<void> {
    rendering ??= Promise.resolve().then(() => {
      rendering = undefined;
      keepFocus(show);
    });
    return rendering;
  }

  const account = watchAccount({
    update,
    onChange(user, cause) {
      const before = workspace?.user;
      workspace?.close();
      signIn?.dispose();
      leaving = createCall(signOut, update);
      workspace = signIn = notice = undefined;
      if (user === null) {
        signIn = createSignIn({ reason: REASONS[cause], onSignedIn: account.onSignedIn, update });
        if (before !== undefined) announce(REASONS[cause] ?? '');
      } else openFor(user, cause === 'elsewhere');
      keepFocus(show);
      if (cause !== 'start') focusHeading();
    },
  });

  function openFor(user: SessionUser, isElsewhere: boolean): void {
    workspace = openWorkspace({ user, update, onSignedOut: account.onEnded });
    workspace.open(routeOf(location.hash));
    if (!isElsewhere) return;
    notice = `You are now signed in as ${user.name}, as in your other tab.`;
    announce(notice);
  }

  async function signOut(options: CallOptions): Promise<void> {
    const { forgetUnsaved } = workspace ?? {};
    await account.signOut(options);
    forgetUnsaved?.();
  }

  function focusHeading(): void {
    root.querySelector<HTMLElement>('h1')?.focus();
    window.scrollTo({ top: 0 });
  }

  function navigate(): void {
    notice = undefined;
    workspace?.open(routeOf(location.hash));
    show();
    // A reader who chooses an order or a tag may choose another one.
    if (document.activeElement?.closest('select, .side')) announce(workspace?.screen?.title ?? '');
    else if (workspace?.restorePlace() !== true) focusHeading();
  }

  function skip(event: Event): void {
    event.preventDefault();
    root.querySelector<HTMLElement>('main')?.focus();
  }

  /** A list of a tag or of a user is one of posts, not the one that the link leads to. */
  function isWithin(path: string, route: Route): boolean {
    const { screen } = routeOf(path);
    return screen === route.screen || (screen === 'drafts' && route.screen === 'draft');
  }

  function navigationLink(path: string, label: string): TemplateResult {
    const { hash } = location;
    const isHere = path === hash || (hash === '' && path === listPath());
    const current = isHere ? 'page' : isWithin(path, routeOf(hash)) ? 'true' : nothing;
    return html`<a class="nav-link" href=${path} aria-current=${current}>${label}</a>`;
  }

  const navigation = () => html`<nav aria-label="Main">
    ${navigationLink(listPath(), 'Posts')} ${navigationLink(draftsPath, 'Drafts')} ${navigationLink(newPath, 'New post')}
  </nav>`;

  const menu = (user: SessionUser) => html`${navigation()}
    <div class="account">
      <a class="account-link" href="${API_ORIGIN}/account" title="Your account">${avatar(user)}<span class="account-name">${user.name}</span></a>
      <button type="button" class="small" @click=${() => void leaving.run()}>Sign out</button>
    </div>`;

  function content(): TemplateResult | typeof nothing {
    const screen = workspace?.screen ?? signIn;
    if (screen !== undefined) return screen.render();
    if (account.failure === undefined) return nothing;
    return html`<div class="screen-head"><h1 tabindex="-1">This page cannot start yet</h1></div>
      ${failureNotice(account.failure, () => void account.ask())}`;
  }

  /** Why the session goes on after "Sign out". */
  function notLeft({ error, retryAtMs }: Failure): TemplateResult {
    const said = error.isOutcomeUnknown ? 'You may not be signed out yet.' : 'You are not signed out yet.';
    const message = `${said} ${describeError(error)}`;
    return failureNotice({ error, retryAtMs }, () => void leaving.run(), message);
  }

  function show(): void {
    const screen = workspace?.screen ?? signIn;
    document.title = screen === undefined ? 'Content Graph API' : `${screen.title} – Content Graph API`;
    render(
      html`<a class="skip-link" href="#main" @click=${skip}>Skip to the content</a>
        <header>
          <div class="bar">
            <a class="brand" href=${listPath()}><span class="mark" aria-hidden="true"></span><span class="brand-name">Content Graph API</span></a>
            ${workspace === undefined ? nothing : menu(account.user ?? workspace.user)}
          </div>
        </header>
        <main id="main" tabindex="-1">
          ${notice === undefined ? nothing : html`<p class="notice">${notice}</p>`}
          ${leaving.failure === undefined ? nothing : notLeft(leaving.failure)}
          ${content()}
        </main>
        <footer>
          <p>An example for the Content Graph API. <a href="${API_ORIGIN}/">Start page</a></p>
        </footer>`,
      root,
    );
  }

  window.addEventListener('hashchange', navigate);
  show();
  void account.ask();
}
