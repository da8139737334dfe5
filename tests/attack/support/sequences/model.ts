import type { Page } from 'puppeteer-core';
import { expect } from 'vitest';
import { deployment, statusOfStream } from '../attacker.ts';
import { grantsOf, type Visitor } from '../visitor.ts';
import { isActive, whoIsAt } from './asks.ts';

const { players } = deployment;

export interface Session {
  readonly user: string;
  alive: boolean;
}

/** An authorization under way. */
export interface Tab {
  readonly page: Page;
  readonly tokenFor: (code: string) => Promise<string>;
  /** Whose consent it shows; undefined where it shows another page. */
  asks: string | undefined;
}

/** A browser, and what the model knows of it. */
export interface Seat {
  readonly visitor: Visitor;
  /** A page of the service, from which its scripts ask. */
  readonly home: Page;
  session: Session | undefined;
  tabs: Tab[];
}

/** What has been issued, and whether it is to work. */
interface Issued {
  readonly user: string;
  readonly secret: string;
  alive: boolean;
}

/** Of those issued, the newest are asked for after each move. */
const ASKED = 4;

/** What the service must hold after what has been done. */
export class Model {
  readonly seats: readonly Seat[];
  /** Who has allowed the application to act for them. */
  readonly granted = new Set<string>();
  readonly #tokens: Issued[] = [];
  readonly #streams: (Issued & { readonly session: Session })[] = [];

  constructor(seats: readonly Seat[]) {
    this.seats = seats;
  }

  /** Who acts in a browser. */
  userOf({ session }: Seat): string | undefined {
    return session?.alive ? session.user : undefined;
  }

  /** A session, and what was issued in it, is over. */
  end(session: Session | undefined): void {
    if (session === undefined) return;
    session.alive = false;
    for (const stream of this.#streams) if (stream.session === session) stream.alive = false;
  }

  /** All is over that somebody was signed in to, except in the browser where they have changed their password. */
  changed(user: string, where: Seat): void {
    for (const seat of this.seats) if (seat !== where && seat.session?.user === user) this.end(seat.session);
    for (const issued of [...this.#tokens, ...this.#streams]) if (issued.user === user) issued.alive = false;
    this.granted.delete(user);
  }

  token(user: string, secret: string): void {
    this.#tokens.push({ user, secret, alive: true });
  }

  stream(session: Session, secret: string): void {
    this.#streams.push({ user: session.user, secret, alive: true, session });
  }

  /** Compares all that there is with the model. What ends does so everywhere within a second. */
  async judge(): Promise<void> {
    for (const [at, { home, session }] of this.seats.entries())
      await expect
        .poll(() => whoIsAt(home), { message: `who is signed in in browser ${at}` })
        .toBe(session?.alive ? session.user : undefined);
    for (const { email } of players)
      expect(await grantsOf(email), `grants of ${email}`).toBe(this.granted.has(email) ? 1 : 0);
    for (const { user, secret, alive } of this.#tokens.slice(-ASKED))
      await expect.poll(() => isActive(secret), { message: `an access token of ${user}` }).toBe(alive);
    for (const { user, secret, alive } of this.#streams.slice(-ASKED))
      await expect
        .poll(() => statusOfStream(secret), { message: `a stream token of ${user}` })
        .toBe(alive ? 200 : 401);
  }
}
