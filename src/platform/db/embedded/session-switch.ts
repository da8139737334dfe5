import type { Backend } from './backend.ts';
import { code, SYNC, textAt } from './protocol.ts';
import {
  changeSettings,
  deallocate,
  NEW_SESSION,
  readState,
  type SessionState,
  undo,
  unlisten,
} from './session-state.ts';

/** What a connection has for itself. The connections of the service share one: each sets the same. */
export interface Session {
  state: SessionState;
}

export interface SwitchServices {
  readonly backend: Backend;
  /** What the backend listens for, whoever has it. */
  readonly channels: readonly string[];
  /** Called where the backend has not listened for a while. */
  missed(): void;
  /** The service's session was found changed. */
  healed(what: readonly string[]): void;
}

const [PARSE, CLOSE, STATEMENT] = [...'PCS'].map(code);
/** After type and length. */
const BODY_AT = 5;

/**
 * Gives PGlite's one session the settings of the connection that uses it, and removes what a connection leaves behind
 * when it ends (decision 36). What a connection prepares, locks or listens for stays in the session until then, where it
 * disturbs no other. What a guest ends of the service's is restored.
 */
export class SessionSwitch {
  readonly service: Session = { state: NEW_SESSION };
  readonly #services: SwitchServices;
  /** Whose settings the session has. */
  #current: Session | undefined = this.service;
  readonly #outside = new Set<Session>();
  /** The Parse messages of what the service has prepared, by name. */
  readonly #prepared = new Map<string, { readonly id: number; readonly parse: Uint8Array }>();

  constructor(services: SwitchServices) {
    this.#services = services;
  }

  newSession(): Session {
    const session = { state: NEW_SESSION };
    this.#outside.add(session);
    return session;
  }

  /** Remembers what a message that the service's connection `id` has sent prepares or closes. */
  remember(id: number, message: Uint8Array): void {
    const type = message[0];
    if (type === PARSE) {
      const name = textAt(message, BODY_AT);
      if (name !== '') this.#prepared.set(name, { id, parse: message });
    } else if (type === CLOSE && message[BODY_AT] === STATEMENT)
      this.#prepared.delete(textAt(message, BODY_AT + 1));
  }

  /** Outside a transaction. Rejects if the session cannot be changed. */
  async enter(session: Session): Promise<void> {
    if (session === this.#current) return;
    const state = await readState(this.#services.backend.db);
    const others = [...this.#outside, this.service].filter((other) => other !== this.#current);
    const known = new Set(others.flatMap((other) => other.state.undo));
    if (this.#current !== undefined)
      this.#current.state = { ...state, undo: state.undo.filter((statement) => !known.has(statement)) };
    const there = new Set(state.undo);
    if (this.#current === this.service) {
      // PostgreSQL has refused the others.
      for (const name of this.#prepared.keys()) if (!there.has(deallocate(name))) this.#prepared.delete(name);
    }
    // Should the change fail, they are nobody's.
    this.#current = undefined;
    await changeSettings(this.#services.backend.db, state, session.state);
    this.#current = session;
    await this.#heal(there);
  }

  /** Ends the session of a connection that is gone, or what the service's connection `id` has prepared in the shared one. */
  async leave(session: Session, id: number): Promise<void> {
    await this.enter(this.service);
    if (session === this.service) {
      const names = [...this.#prepared].filter(([, { id: owner }]) => owner === id).map(([name]) => name);
      for (const name of names) this.#prepared.delete(name);
      await undo(this.#services.backend.db, names.map(deallocate));
      return;
    }
    this.#outside.delete(session);
    const { db } = this.#services.backend;
    if (!(await undo(db, session.state.undo))) {
      await db.exec('DISCARD TEMP; CLOSE ALL; UNLISTEN *; SELECT pg_advisory_unlock_all()');
      await this.#heal(new Set((await readState(db)).undo));
    }
    // Functions and types may be temporary, too.
    if (this.#outside.size === 0) await db.exec('DISCARD TEMP');
  }

  /** Restores what is missing of the service's. Prepared statements only when the service has the session. */
  async #heal(there: ReadonlySet<string>): Promise<void> {
    const { backend, channels, healed, missed } = this.#services;
    const deaf = channels.filter((channel) => !there.has(unlisten(channel)));
    for (const channel of deaf) await backend.db.exec(`LISTEN ${channel}`);
    if (deaf.length > 0) missed();
    const lost =
      this.#current === this.service
        ? [...this.#prepared].filter(([name]) => !there.has(deallocate(name)))
        : [];
    // Each on its own: one that is refused skips what follows up to a Sync.
    if (lost.length > 0) await backend.run(Buffer.concat(lost.flatMap(([, { parse }]) => [parse, SYNC])));
    const what = [
      ...(deaf.length > 0 ? ['LISTEN'] : []),
      ...(lost.length > 0 ? ['prepared statements'] : []),
    ];
    if (what.length > 0) healed(what);
  }
}
