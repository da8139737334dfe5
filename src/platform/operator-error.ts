/**
 * Something that the person who asked can put right, such as an operator. Its message says what is wrong and what to do,
 * in one line, and is shown without a stack.
 */
export class OperatorError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** The text on one line. */
export const onOneLine = (text: string): string => text.replaceAll(/\s*\n\s*/g, ' ').trim();
