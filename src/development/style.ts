/** The look of the pages for development, on the colours of all pages. */
export const STYLE = `
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 1rem/1.6 system-ui, sans-serif; }
a { color: var(--act); text-underline-offset: .15em; }
:focus-visible { outline: 3px solid var(--act); outline-offset: 2px; border-radius: .25rem; }
main:focus { outline: 0; }
main.wide { max-width: none; }
.wide .columns { padding: 0; columns: 24rem; column-gap: 3rem; list-style: none; }
.wide > .code { max-width: 50rem; }
.skip { position: absolute; left: -100rem; }
.skip:focus { left: 1rem; top: .5rem; padding: .5rem 1rem; background: var(--paper); }
header { display: flex; align-items: center; justify-content: space-between; gap: 1rem; padding: .75rem max(1rem, calc((100vw - 74rem) / 2)); border-bottom: 1px solid var(--line); background: var(--ground); }
header .home { display: flex; align-items: center; gap: .5rem; color: var(--ink); font-weight: 600; text-decoration: none; }
.search { display: flex; flex: 0 1 22rem; gap: .5rem; min-width: 0; margin-left: auto; }
.search input { width: 0; min-width: 0; flex: 1; min-height: 2.25rem; padding: .25rem .625rem; border: 1px solid var(--edge); border-radius: .5rem; background: var(--paper); color: inherit; font: inherit; }
::placeholder { color: var(--soft); opacity: 1; }
button { min-height: 2.25rem; padding: .25rem .75rem; border: 1px solid var(--edge); border-radius: .5rem; background: var(--paper); color: var(--ink); font: inherit; font-size: .875rem; font-weight: 600; cursor: pointer; }
button:hover { border-color: var(--act); color: var(--act); }
header svg { width: 1.5rem; height: 1.5rem; fill: none; stroke: var(--act); stroke-width: 2; }
header nav { display: flex; gap: 1.25rem; }
.page { max-width: 76rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
main { min-width: 0; max-width: 50rem; overflow-wrap: break-word; }

h1, h2, h3, h4 { line-height: 1.25; text-wrap: balance; }
h1 { margin: 0 0 1rem; font-size: 2rem; }
h2 { margin: 2.5rem 0 .75rem; padding-bottom: .3rem; border-bottom: 1px solid var(--line); font-size: 1.5rem; }
h3 { margin: 2rem 0 .5rem; font-size: 1.2rem; }
h4 { margin: 1.5rem 0 .5rem; font-size: 1rem; }
p, ul, ol, .code, .table { margin: 0 0 1rem; }
ul, ol { padding-left: 1.5rem; }
li { margin: .25rem 0; }
code { padding: .1em .3em; border-radius: .25rem; background: var(--tint); font: .875em/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
a code { color: inherit; }
.table { overflow-x: auto; }
table { border-collapse: collapse; font-size: .9375rem; }
th, td { padding: .4rem .75rem; border: 1px solid var(--line); text-align: left; vertical-align: top; overflow-wrap: normal; }
th { background: var(--ground); }
thead td { padding: 0; border: 0; }
td code { white-space: nowrap; }
img { max-width: 100%; height: auto; border: 1px solid var(--line); border-radius: .5rem; }
blockquote { margin: 0 0 1rem; padding-left: 1rem; border-left: 4px solid var(--line); color: var(--soft); }

.contents { font-size: .9375rem; line-height: 1.4; }
.contents ul { margin: 0; padding: 0; list-style: none; }
.contents li { margin: 0; }
.contents p { margin: 1.25rem 0 .25rem; padding: 0 .5rem; color: var(--soft); font-size: .8125rem; font-weight: 600; }
.contents p:first-child { margin-top: 0; }
.contents a { display: block; padding: .3rem .5rem; border-radius: .375rem; color: var(--ink); text-decoration: none; }
.contents a:hover { background: var(--tint); text-decoration: underline; }
.contents a[aria-current] { background: var(--tint); font-weight: 600; }
.contents ul ul a { padding-left: 1.5rem; color: var(--soft); font-size: .875rem; }
.contents .pages { display: none; }
.contents summary { padding: .5rem .75rem; cursor: pointer; font-weight: 600; }
.contents details { margin-bottom: 1.5rem; border: 1px solid var(--line); border-radius: .5rem; }
.contents details ul { padding: 0 .25rem .5rem; }
@media (min-width: 64rem) {
  .page:has(.contents) { display: grid; grid-template-columns: 16rem minmax(0, 50rem); gap: 3rem; padding-top: 2.5rem; }
  .contents { position: sticky; top: 1rem; align-self: start; max-height: calc(100vh - 2rem); overflow-y: auto; }
  .contents .pages { display: block; }
  .contents details { display: none; }
}

.lead { max-width: 40rem; color: var(--soft); font-size: 1.125rem; }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 20rem), 1fr)); gap: 1rem; margin: 1.5rem 0; padding: 0; list-style: none; }
.cards li { position: relative; margin: 0; padding: 1rem 1.25rem; border: 1px solid var(--line); border-radius: .75rem; background: var(--paper); }
.cards li:hover { border-color: var(--act); }
.cards a { font-size: 1.125rem; font-weight: 600; }
.cards a::after { content: ""; position: absolute; inset: 0; border-radius: .75rem; }
.cards p { margin: .25rem 0 0; color: var(--soft); }
.notice { max-width: 50rem; padding: .75rem 1rem; border-left: 4px solid var(--act); border-radius: .5rem; background: var(--tint); }
.small { color: var(--soft); font-size: .9375rem; }
.place { margin: 0; color: var(--soft); font-size: .8125rem; }
.hits { padding: 0; list-style: none; }
.hits li { margin: 0; padding: 1rem 0; border-top: 1px solid var(--line); }
.hits a { font-size: 1.125rem; font-weight: 600; }
.hits p { margin: 0; overflow-wrap: anywhere; }
mark { border-radius: .125rem; background: var(--mark); color: inherit; }
:root { --mark: #ffe08a; }
@media (prefers-color-scheme: dark) { :root { --mark: #3a3000; } }

@media (max-width: 48rem) {
  header { flex-wrap: wrap; }
  .search { flex: 1 0 100%; order: 1; }
}
@media (max-width: 30rem) {
  table, tbody, tr, td { display: block; }
  thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  tbody tr { margin-bottom: .75rem; padding: .25rem .75rem; border: 1px solid var(--line); border-radius: .5rem; }
  tbody td { display: grid; grid-template-columns: 6rem minmax(0, 1fr); gap: .75rem; padding: .4rem 0; border: 0; border-top: 1px solid var(--line); overflow-wrap: anywhere; }
  tbody td:first-child { border-top: 0; }
  tbody td::before { content: attr(data-label); color: var(--soft); font-size: .8125rem; overflow-wrap: break-word; }
  tbody td:not([data-label]) { display: block; }
  tbody td:empty { display: none; }
  td code { white-space: normal; }
}
`;
