const SECOND_MS = 1_000;

/** `<count-down>`: the seconds until an instant, for example "7 s". Screen readers hear the first value only. */
export class CountDown extends HTMLElement {
  #untilMs = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** In milliseconds as of `Date.now()`. */
  set until(untilMs: number) {
    if (untilMs === this.#untilMs) return;
    this.#untilMs = untilMs;
    const spoken = document.createElement('span');
    spoken.className = 'visually-hidden';
    const shown = document.createElement('span');
    shown.ariaHidden = 'true';
    this.replaceChildren(spoken, shown);
    spoken.textContent = this.#text();
    if (this.isConnected) this.#tick();
  }

  connectedCallback(): void {
    this.#tick();
  }

  disconnectedCallback(): void {
    clearTimeout(this.#timer);
  }

  #text(): string {
    return `${Math.max(0, Math.ceil((this.#untilMs - Date.now()) / SECOND_MS))} s`;
  }

  #tick(): void {
    clearTimeout(this.#timer);
    const leftMs = this.#untilMs - Date.now();
    if (this.lastElementChild !== null) this.lastElementChild.textContent = this.#text();
    if (leftMs > 0) this.#timer = setTimeout(() => this.#tick(), leftMs % SECOND_MS || SECOND_MS);
  }
}

customElements.define('count-down', CountDown);
