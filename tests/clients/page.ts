import { onTestFinished } from 'vitest';
import { until } from '../support/processes/process.ts';

export interface Page {
  readonly container: Element;
  /** The texts of the list's items. */
  items(): readonly string[];
  text(): string;
  /** Clicks a button once it can be clicked. */
  click(name: string): Promise<void>;
  /** Clicks "More", or the button that goes the other way, until there is no more. Resolves to the items. */
  readToTheEnd(name?: string): Promise<readonly string[]>;
}

/** A part of the document that goes with the test. */
export function openPage(): Page {
  const container = document.body.appendChild(document.createElement('main'));
  onTestFinished(() => container.remove());
  const items = () => [...container.querySelectorAll('li')].map((item) => item.textContent ?? '');
  const button = (name: string) =>
    [...container.querySelectorAll('button')].find(({ textContent }) => textContent === name);
  const isBusy = () => container.querySelector('[aria-busy=true]') !== null;
  const click = async (name: string) =>
    (
      await until(`the button ${name}`, () => [button(name)].find((found) => found?.disabled === false))
    ).click();
  return {
    container,
    items,
    text: () => container.textContent ?? '',
    click,
    async readToTheEnd(name = 'More') {
      await until('the first page', () => button(name) !== undefined);
      while (button(name)?.disabled === false) {
        const before = items().length;
        await click(name);
        await until('the next page', () => items().length > before && !isBusy());
      }
      return items();
    },
  };
}
