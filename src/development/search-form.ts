import { type Html, html } from '../http/pages/layout.ts';
import { DOCS } from './pages.ts';

/** The name of what is looked for, in the address. */
export const QUERY = 'q';

/** Asks the server: it works without a script. */
export function searchForm(query: string | undefined): Html {
  return html`<form class="search" role="search" action="${DOCS}">
<input type="search" name="${QUERY}" value="${query ?? ''}" aria-label="Search the docs" placeholder="Search the docs" maxlength="200" required>
<button>Search</button>
</form>
`;
}
