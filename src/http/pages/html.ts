/** HTML that is safe to embed. */
export interface Html {
  readonly html: string;
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

type Part = Html | string | readonly Html[];

function textOf(part: Part): string {
  if (typeof part === 'string') return part.replaceAll(/[&<>"']/g, (character) => ESCAPES[character] ?? '');
  return 'html' in part ? part.html : part.map(({ html }) => html).join('');
}

/**
 * Builds HTML from a template. Interpolated strings are escaped, for elements and for quoted attributes
 * alike.
 */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return { html: strings.reduce((whole, next, index) => whole + textOf(parts[index - 1] ?? '') + next) };
}

export const NOTHING: Html = { html: '' };
