import hljs from 'highlight.js/lib/core';
import bash from 'highlight.js/lib/languages/bash';
import css from 'highlight.js/lib/languages/css';
import graphql from 'highlight.js/lib/languages/graphql';
import ini from 'highlight.js/lib/languages/ini';
import javascript from 'highlight.js/lib/languages/javascript';
import json from 'highlight.js/lib/languages/json';
import nginx from 'highlight.js/lib/languages/nginx';
import python from 'highlight.js/lib/languages/python';
import shell from 'highlight.js/lib/languages/shell';
import typescript from 'highlight.js/lib/languages/typescript';
import xml from 'highlight.js/lib/languages/xml';
import yaml from 'highlight.js/lib/languages/yaml';
import { type Html, html, NOTHING } from '../http/pages/layout.ts';

/** Those of the docs and the examples; each brings its usual other names. */
const LANGUAGES = { bash, css, graphql, ini, javascript, json, nginx, python, shell, typescript, xml, yaml };
for (const [name, language] of Object.entries(LANGUAGES)) hljs.registerLanguage(name, language);

/** A session with its output: not made to be pasted. */
const SESSION = 'console';

/**
 * A block of code, with colours if its language is known. What has a language can be copied; what has none is output.
 * One that wraps is a single long line. Keyboards scroll what has the focus (WCAG 2.1.1).
 */
export function codeBlock(text: string, language = '', wraps = false): Html {
  const shown =
    hljs.getLanguage(language) === undefined
      ? html`${text}`
      : { html: hljs.highlight(text, { language, ignoreIllegals: true }).value };
  const copied = language === '' || language === SESSION ? NOTHING : html` data-copy`;
  return html`<div class="code${wraps ? ' wrap' : ''}"${copied}><pre tabindex="0"><code>${shown}</code></pre></div>
`;
}
