/** A page that is scrolled no further counts as being at its top. */
export const TOP_PX = 80;

let pointer: { readonly x: number; readonly y: number } | undefined;

document.addEventListener('pointermove', ({ clientX: x, clientY: y }) => {
  pointer = { x, y };
});
document.documentElement.addEventListener('pointerleave', () => {
  pointer = undefined;
});

/** Not `:hover`, which sticks in Chromium when the hovered element is removed. */
function isUnderPointer(element: Element): boolean {
  return pointer !== undefined && element.contains(document.elementFromPoint(pointer.x, pointer.y));
}

/** Whether somebody may be reading a list, pointing at it or about to touch it, so that it must not move. */
export function mayBeRead(list: Element): boolean {
  if (document.hidden) return false;
  if (window.scrollY > TOP_PX || !matchMedia('(hover: hover)').matches) return true;
  return isUnderPointer(list) || list.contains(document.activeElement);
}
