const UNITS = [
  { unit: 'year', ms: 31_536_000_000 },
  { unit: 'month', ms: 2_592_000_000 },
  { unit: 'day', ms: 86_400_000 },
  { unit: 'hour', ms: 3_600_000 },
  { unit: 'minute', ms: 60_000 },
] as const;
const REFRESH_MS = 30_000;

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
const absolute = new Intl.DateTimeFormat('en', { dateStyle: 'long', timeStyle: 'short' });

function wordsFor(instant: Date): string {
  const elapsedMs = Date.now() - instant.getTime();
  const found = UNITS.find(({ ms }) => elapsedMs >= ms);
  return found === undefined ? 'just now' : relative.format(-Math.floor(elapsedMs / found.ms), found.unit);
}

/** `<relative-time>`: how long ago an instant was, kept current, with the full date as a tooltip. */
export class RelativeTime extends HTMLElement {
  readonly #time = document.createElement('time');
  #instant = new Date(0);
  #timer: ReturnType<typeof setInterval> | undefined;

  /** RFC 3339. */
  set at(text: string) {
    this.#instant = new Date(text);
    this.#time.dateTime = text;
    this.#time.title = absolute.format(this.#instant);
    this.#show();
  }

  connectedCallback(): void {
    this.append(this.#time);
    this.#timer = setInterval(() => this.#show(), REFRESH_MS);
  }

  disconnectedCallback(): void {
    clearInterval(this.#timer);
  }

  #show(): void {
    this.#time.textContent = wordsFor(this.#instant);
  }
}

customElements.define('relative-time', RelativeTime);
