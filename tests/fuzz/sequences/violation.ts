/** What came back is not what the contract says. */
export class Violation extends Error {
  constructor(what: string, details: readonly string[]) {
    super([what, ...details].join('\n'));
    this.name = 'Violation';
  }
}
