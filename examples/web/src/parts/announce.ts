const CLEAR_MS = 5_000;

let clearing: ReturnType<typeof setTimeout> | undefined;

/** Has a screen reader say something when it is free (WCAG 2.2, success criterion 4.1.3). */
export function announce(text: string): void {
  const region = document.getElementById('announcements');
  if (region === null) return;
  region.textContent = text;
  clearTimeout(clearing);
  clearing = setTimeout(() => region.replaceChildren(), CLEAR_MS);
}
