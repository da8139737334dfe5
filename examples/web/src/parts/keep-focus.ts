const HEADINGS = 'h1[tabindex], h2[tabindex]';

/** What is typed must not go on in the form beside it: a field only of the same form. */
function targetIn(place: Element): Element | null {
  if (place.matches('[tabindex]')) return place;
  return place.querySelector(place.matches('form, .field, .row-text') ? 'textarea, input' : HEADINGS);
}

/** The elements around one, from within. */
function* around(element: Element): Generator<Element> {
  for (let next = element.parentElement; next !== null; next = next.parentElement) yield next;
}

/**
 * Renders. If what has the focus goes, the focus moves to what is nearest of that which stays: to the part of the page
 * around it, or to a field or a heading there. Else, browsers move it to the body, and keyboards begin anew.
 */
export function keepFocus(draw: () => void): void {
  const focused = document.activeElement;
  const places = focused === null ? [] : [...around(focused)];
  draw();
  if (!(focused instanceof HTMLElement) || focused === document.body) return;
  if (document.activeElement !== document.body) return;
  // What is moved loses the focus, too.
  const targets = [focused, ...places.map(targetIn)];
  const next = targets.find((target) => target instanceof HTMLElement && target.isConnected);
  if (next instanceof HTMLElement) next.focus({ preventScroll: true });
}
