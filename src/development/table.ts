import { type Html, html, NOTHING } from '../http/pages/layout.ts';

export interface Cell {
  readonly shown: Html;
  /** Its text alone. */
  readonly text: string;
}

/**
 * A table that phones show as stacked rows, each cell with the name of its column. The roles are those that the elements
 * have by themselves: browsers forget them where the style makes blocks of the rows.
 */
export function table(header: readonly Cell[], rows: readonly (readonly Cell[])[]): Html {
  const heads = header.map(({ shown, text }) =>
    text === '' ? html`<td role="cell"></td>` : html`<th role="columnheader" scope="col">${shown}</th>`,
  );
  const cellOf = ({ shown }: Cell, index: number): Html => {
    const name = header[index]?.text ?? '';
    const label = name === '' ? NOTHING : html` data-label="${name}"`;
    return html`<td role="cell"${label}>${shown.html === '' ? NOTHING : html`<div>${shown}</div>`}</td>`;
  };
  return html`<div class="table" tabindex="0" role="group" aria-label="Table"><table role="table">
<thead role="rowgroup"><tr role="row">${heads}</tr></thead>
<tbody role="rowgroup">
${rows.map(
  (cells) => html`<tr role="row">${cells.map(cellOf)}</tr>
`,
)}</tbody>
</table></div>
`;
}
