// A button beside each block of code that is made to be pasted. Without a script there is none.

const SHOWN_MS = 2_000;

/** Pages that are not from this machine and without TLS have no clipboard (Secure Contexts). */
async function copy(/** @type {HTMLElement} */ code) {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(code.textContent ?? '');
  getSelection()?.selectAllChildren(code);
  if (!document.execCommand('copy')) throw new Error('The browser does not allow it.');
}

for (const block of document.querySelectorAll('[data-copy]')) {
  const code = block.querySelector('code');
  if (code === null) continue;
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = 'Copy';
  // Says what it shows after a click.
  button.ariaLive = 'polite';
  button.addEventListener('click', async () => {
    try {
      await copy(code);
      button.textContent = 'Copied';
    } catch {
      button.textContent = 'Not allowed';
    }
    setTimeout(() => {
      button.textContent = 'Copy';
    }, SHOWN_MS);
  });
  block.prepend(button);
}
