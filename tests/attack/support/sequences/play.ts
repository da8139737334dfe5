import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { cookieOf, login } from '../../../support/credentials/session.ts';
import { deployment, graphql, service } from '../attacker.ts';
import { click, ownAuthorization, type Shown, shownAt, signInAt } from '../authorization.ts';
import { PASSWORD } from '../deployment.ts';
import { NAMES } from '../front.ts';
import type { Sites } from '../sites.ts';
import { answered, type Visitor } from '../visitor.ts';
import { changePassword, passwordOf, post, whoIsAt } from './asks.ts';
import { Model, type Seat, type Tab } from './model.ts';

const { ada, origin, players } = deployment;

export const MOVES = [
  ...['signIn', 'logOut', 'changePassword', 'stream'],
  ...['authorize', 'signInThere', 'allow', 'cancel', 'reload', 'comeBack', 'close'],
  ...['forge', 'plant'],
] as const;

/** One of the two browsers does something, as one of the two users or in one of its tabs. */
export interface Move {
  readonly move: (typeof MOVES)[number];
  readonly seat: number;
  readonly user: number;
  readonly tab: number;
}

const MOST_TABS = 3;

/** Two browsers, and a model of what the service must make of all that is done in them. */
export class Play {
  readonly #sites: Sites;
  readonly #model: Model;

  private constructor(sites: Sites, model: Model) {
    this.#sites = sites;
    this.#model = model;
  }

  /** Begins with nobody signed in anywhere: a new password ends all that there was. */
  static async begin(sites: Sites, visitors: readonly Visitor[]): Promise<Play> {
    for (const { email } of players) {
      const headers = { cookie: cookieOf(await login(service, { email, password: passwordOf(email) })) };
      const { data } = await graphql(changePassword(email), headers);
      expect(data.changePassword).toBe(true);
    }
    const seats: Seat[] = [];
    for (const visitor of visitors)
      seats.push({ visitor, home: await visitor.page(`${origin}/login`), session: undefined, tabs: [] });
    return new Play(sites, new Model(seats));
  }

  async make({ move, seat: at, user, tab: which }: Move): Promise<void> {
    const seat = this.#model.seats[at];
    const email = players[user]?.email;
    if (seat === undefined || email === undefined) throw new Error('there are two of each');
    const tab = seat.tabs[which % Math.max(1, seat.tabs.length)];
    await this.#moves[move](seat, email, tab);
    await this.#model.judge();
  }

  readonly #moves: Record<Move['move'], (seat: Seat, email: string, tab?: Tab) => Promise<void>> = {
    signIn: async (seat, email) => {
      const body = JSON.stringify({ email, password: passwordOf(email) });
      expect(await post(seat.home, '/login', body)).toMatchObject({ status: 200 });
      seat.session = { user: email, alive: true };
    },
    logOut: async (seat) => {
      expect(await post(seat.home, '/logout', '{}')).toMatchObject({ status: 204 });
      this.#model.end(seat.session);
      seat.session = undefined;
    },
    changePassword: async (seat) => {
      const user = this.#model.userOf(seat);
      if (user === undefined) return;
      const query = JSON.stringify({ query: changePassword(user) });
      expect(await post(seat.home, '/graphql', query)).toMatchObject({ status: 200 });
      this.#model.changed(user, seat);
      // What of the authorizations under way is over with it depends on who has signed in there.
      for (const other of this.#model.seats) for (const tab of other.tabs) await this.#close(other, tab);
    },
    stream: async (seat) => {
      const query = JSON.stringify({ query: 'subscription { postCreated { id } }' });
      const { status, text } = await post(seat.home, '/graphql/stream-token', query);
      expect(status).toBe(this.#model.userOf(seat) === undefined ? 401 : 200);
      if (seat.session?.alive) this.#model.stream(seat.session, JSON.parse(text).token);
    },
    authorize: async (seat) => {
      if (seat.tabs.length === MOST_TABS) return;
      const { url, tokenFor } = ownAuthorization();
      const tab: Tab = { page: await seat.visitor.page(), tokenFor, asks: undefined };
      seat.tabs.push(tab);
      await tab.page.goto(url);
      await this.#settle(seat, tab);
    },
    signInThere: async (seat, email, tab) => {
      if (tab === undefined || (await this.#reload(seat, tab)).at !== 'sign-in') return;
      await signInAt(tab.page, email, passwordOf(email));
      this.#model.end(seat.session);
      seat.session = { user: email, alive: true };
      await this.#settle(seat, tab);
    },
    allow: async (seat, _email, tab) => {
      if (tab?.asks === undefined) return;
      await click(tab.page, 'Allow');
      // Who is somebody else by now, or nobody, is asked again.
      if (this.#model.userOf(seat) === tab.asks) this.#model.granted.add(tab.asks);
      await this.#settle(seat, tab);
    },
    cancel: async (seat, _email, tab) => {
      if (tab === undefined) return;
      await click(tab.page, 'Cancel');
      await expect
        .poll(() => shownAt(tab.page))
        .toEqual({ at: 'application', code: null, error: 'access_denied' });
      await this.#close(seat, tab);
    },
    reload: async (seat, _email, tab) => {
      if (tab !== undefined) await this.#reload(seat, tab);
    },
    comeBack: async (seat, _email, tab) => {
      if (tab === undefined) return;
      await tab.page.goto(this.#sites.show(NAMES.evil, '/', '<h1>Kittens</h1>'));
      await tab.page.goBack();
      await this.#settle(seat, tab);
    },
    close: async (seat, _email, tab) => {
      if (tab !== undefined) await this.#close(seat, tab);
    },
    forge: async ({ visitor }, email) => {
      const mark = randomUUID();
      const page = await visitor.page(this.#sites.show(NAMES.evil, '/', '<h1>Kittens</h1>'));
      const body = JSON.stringify({ email, password: passwordOf(email) });
      for (const path of ['/login', '/logout'])
        await page.evaluate(
          (to, text) => fetch(to, { method: 'POST', mode: 'no-cors', body: text }).then(() => undefined),
          `${origin}${path}?mark=${mark}`,
          body,
        );
      await page.evaluate((action) => {
        const form = Object.assign(document.createElement('form'), { method: 'post', action });
        document.body.append(form);
        form.submit();
      }, `${origin}/logout?mark=${mark}`);
      await answered(mark, 3);
      await page.close();
    },
    plant: async ({ visitor, home, session }) => {
      const mallory = cookieOf(await login(service, { email: ada.email, password: PASSWORD }));
      const planted = [`\xa0${mallory}`, `\x85${mallory}`, '\xa0__Host-oauth_browser=planted'];
      const set = (end: string) => planted.map((cookie) => `${cookie}; Domain=corp.test; Secure${end}`);
      const visit = async (headers: readonly string[]) => {
        const page = { body: '<h1>Kittens</h1>', headers: { 'set-cookie': [...headers] } };
        await (await visitor.page(this.#sites.show(NAMES.sibling, '/plant', page))).close();
      };
      await visit(set(''));
      // Nobody, or who it was; an ended session beside a look-alike is one too many.
      expect([undefined, session?.user]).toContain(await whoIsAt(home));
      await visit(set('; Max-Age=0'));
    },
  };

  async #close(seat: Seat, tab: Tab): Promise<void> {
    seat.tabs = seat.tabs.filter((other) => other !== tab);
    await tab.page.close();
  }

  async #reload(seat: Seat, tab: Tab): Promise<Shown> {
    await tab.page.reload();
    return this.#settle(seat, tab);
  }

  /** Waits until a tab shows what it must, and takes the token where it has led back to the application. */
  async #settle(seat: Seat, tab: Tab): Promise<Shown> {
    const user = this.#model.userOf(seat);
    tab.asks = undefined;
    if (user === undefined) {
      await expect.poll(() => shownAt(tab.page)).toEqual({ at: 'sign-in' });
      return { at: 'sign-in' };
    }
    if (!this.#model.granted.has(user)) {
      await expect.poll(() => shownAt(tab.page)).toEqual({ at: 'consent', of: user });
      tab.asks = user;
      return { at: 'consent', of: user };
    }
    await expect
      .poll(() => shownAt(tab.page))
      .toEqual({ at: 'application', code: expect.any(String), error: null });
    const shown = await shownAt(tab.page);
    if (shown.at === 'application') this.#model.token(user, await tab.tokenFor(shown.code ?? ''));
    await this.#close(seat, tab);
    return shown;
  }
}
