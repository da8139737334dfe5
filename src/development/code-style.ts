/** The look of code: each colour has a contrast of at least 4.5 on its ground (WCAG 1.4.3). */
export const CODE_STYLE = `
:root { --word: #8a1770; --name: #5b3fb0; --text: #0f6b3c; --value: #0b5fb0; --field: #7a4a00; --note: #566370; }
@media (prefers-color-scheme: dark) { :root { --word: #ff9ed8; --name: #cdb4ff; --text: #7fdcae; --value: #79b8ff; --field: #f0bd72; --note: #a9b6c3; } }
.code { position: relative; }
pre { margin: 0; padding: .875rem 1rem; overflow-x: auto; border: 1px solid var(--line); border-radius: .5rem; background: var(--ground); }
pre code { padding: 0; background: none; white-space: pre; overflow-wrap: normal; }
.wrap pre code { white-space: pre-wrap; overflow-wrap: anywhere; }
.code button { position: absolute; top: .5rem; right: .5rem; }
.wrap.code button { position: static; display: block; margin: 0 0 .5rem auto; }
@media (hover: hover) {
  .code:not(.wrap) button { opacity: 0; }
  .code:hover button, .code button:focus-visible { opacity: 1; }
}
@media (hover: none) {
  .code button { position: static; display: block; margin: 0 0 .375rem auto; }
}
.hljs-keyword, .hljs-meta, .hljs-selector-tag, .hljs-name, .hljs-doctag { color: var(--word); }
.hljs-title, .hljs-section, .hljs-built_in, .hljs-selector-class, .hljs-selector-id { color: var(--name); }
.hljs-string, .hljs-regexp, .hljs-addition { color: var(--text); }
.hljs-number, .hljs-literal, .hljs-type, .hljs-symbol, .hljs-link { color: var(--value); }
.hljs-attr, .hljs-attribute, .hljs-variable, .hljs-property, .hljs-params, .hljs-template-variable { color: var(--field); }
.hljs-comment, .hljs-quote { color: var(--note); }
.hljs-subst, .hljs-params { color: inherit; }
.hljs-emphasis { font-style: italic; }
`;
