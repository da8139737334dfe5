import type { Clock } from './clock.ts';
import { ContentGraphError } from './errors.ts';
import { createRandomKey, formatHex, type IntentStorage } from './platform.ts';

/**
 * One task of a person, such as sending a form. Equal variables get the same idempotency key until a response has
 * `data`, also after a reload. Other variables are another task.
 */
export interface Intent {
  /** True if the outcome of an attempt is unknown. Sending the same variables again finds out, without doing it twice. */
  readonly isOpen: boolean;
  /** Forgets the key. The next attempt is another task, even with equal variables. */
  discard(): void;
}

/** How an intent is stored. */
export interface IntentOptions {
  /** `hash` stores no variables, for passwords. `body` is the default. */
  readonly keep?: 'body' | 'hash';
}

/** What one request of an intent sends. */
export interface KeyedRequest {
  readonly key: string;
  readonly body: string;
}

interface IntentRecord extends KeyedRequest {
  /** Identifies the variables. */
  readonly fingerprint: string;
  readonly createdMs: number;
  readonly isUnknown: boolean;
}

/** The service forgets a key 24 hours after the first attempt. */
const MAX_AGE_MS = 23 * 3_600_000;

/** Formats a value as JSON with sorted members: equal variables have equal strings. */
function formatSorted(value: unknown): string {
  return JSON.stringify(value, (_name, member: unknown) =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(([one], [other]) => (one < other ? -1 : 1)))
      : member,
  );
}

async function computeHash(text: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  return formatHex(new Uint8Array(digest));
}

function parseRecord(text: string | null): IntentRecord | undefined {
  try {
    const record: Partial<IntentRecord> | null = JSON.parse(text ?? 'null');
    const { key, body, fingerprint, createdMs } = record ?? {};
    return typeof key === 'string' &&
      typeof body === 'string' &&
      typeof fingerprint === 'string' &&
      typeof createdMs === 'number'
      ? { key, body, fingerprint, createdMs, isUnknown: true }
      : undefined;
  } catch {
    return undefined;
  }
}

/** The implementation of `Intent`. Its other members are for the client. */
export class StoredIntent implements Intent {
  readonly #name: string;
  readonly #storage: IntentStorage | undefined;
  readonly #clock: Clock;
  readonly #keepsBody: boolean;
  #record: IntentRecord | undefined;
  #pendingAttempts = 0;

  constructor(name: string, storage: IntentStorage | undefined, clock: Clock, options: IntentOptions = {}) {
    this.#name = name;
    this.#clock = clock;
    this.#keepsBody = options.keep !== 'hash';
    // An insecure page has no hash function, so nothing is stored there.
    this.#storage = this.#keepsBody || globalThis.crypto.subtle !== undefined ? storage : undefined;
    try {
      this.#record = parseRecord(this.#storage?.getItem(name) ?? null);
    } catch {
      // A storage that cannot be read is empty.
    }
  }

  get isOpen(): boolean {
    return this.#record?.isUnknown === true;
  }

  discard(): void {
    this.#record = undefined;
    try {
      this.#storage?.removeItem(this.#name);
    } catch {
      // A storage that denies access has stored nothing.
    }
  }

  /**
   * Finds or creates the key of a request.
   * @throws {ContentGraphError} `INTENT_EXPIRED` if the service no longer knows the outcome
   */
  async prepare(variables: unknown, body: string): Promise<KeyedRequest> {
    const text = formatSorted(variables);
    const record = this.#record;
    const isSame =
      record !== undefined && (await this.#computeFingerprint(text, record.key)) === record.fingerprint;
    if (isSame && record.isUnknown && this.#clock.nowMs() - record.createdMs > MAX_AGE_MS)
      throw new ContentGraphError(
        'INTENT_EXPIRED',
        'An earlier attempt is more than 23 hours old, so the service may not know its outcome. Check whether it took effect, then discard the intent.',
      );
    if (isSame && (record.isUnknown || this.#pendingAttempts > 0))
      // A newer page may have another document, which the service rejects under the same key.
      return { key: record.key, body: this.#keepsBody ? record.body : body };
    const key = createRandomKey();
    const fingerprint = await this.#computeFingerprint(text, key);
    // A second click may have prepared this request while the hash was computed.
    if (this.#record !== record && this.#record !== undefined) return this.prepare(variables, body);
    this.#record = { key, fingerprint, body, createdMs: this.#clock.nowMs(), isUnknown: false };
    this.#pendingAttempts = 0;
    return { key, body };
  }

  /** Notes that an attempt begins. Until it is settled, its outcome is unknown, also to a reloaded page. */
  begin({ key }: KeyedRequest): void {
    if (this.#record?.key !== key) return;
    this.#pendingAttempts += 1;
    this.#persist();
  }

  /** Notes that an attempt failed. */
  fail({ key }: KeyedRequest, isOutcomeUnknown: boolean): void {
    if (this.#record?.key !== key) return;
    this.#pendingAttempts -= 1;
    if (isOutcomeUnknown) this.#record = { ...this.#record, isUnknown: true };
    this.#persist();
  }

  /** Notes that a response with `data` came: the outcome is known. */
  settle({ key }: KeyedRequest): void {
    if (this.#record?.key === key) this.discard();
  }

  async #computeFingerprint(text: string, key: string): Promise<string> {
    if (this.#keepsBody) return text;
    return this.#storage === undefined ? text : computeHash(`${key}\n${text}`);
  }

  #persist(): void {
    const record = this.#record;
    if (record === undefined || this.#storage === undefined) return;
    const { key, fingerprint, createdMs } = record;
    const body = this.#keepsBody ? record.body : '';
    const isUnknown = record.isUnknown || this.#pendingAttempts > 0;
    try {
      // The service said that nothing was changed, so a reloaded page may use another key.
      if (!isUnknown) this.#storage.removeItem(this.#name);
      else this.#storage.setItem(this.#name, JSON.stringify({ key, body, fingerprint, createdMs }));
    } catch {
      // In a full storage, the key lives as long as the page.
    }
  }
}
