import { PASSWORD } from '../../auth/account/store.ts';
import { type Html, html } from '../../http/pages/html.ts';

export const TWO_DIFFER = 'The two passwords differ.';

/** The fields for a new password: `name`, and `again`. `attributes`: more of the first one's. */
export const newPasswordFields = (name: string, attributes: Html): Html =>
  html`<label for="new-password">New password</label>
<input id="new-password" name="${name}" type="password" autocomplete="new-password" required minlength="${String(PASSWORD.min)}"${attributes}>
<p class="soft" id="rule">${String(PASSWORD.min)} to ${String(PASSWORD.max)} characters, and none of those that many people use.</p>
<label for="again">Repeat the new password</label>
<input id="again" name="again" type="password" autocomplete="new-password" required>`;
