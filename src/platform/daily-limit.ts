/** Something was done too often on one day (UTC). The message is for clients. */
export class DailyLimitError extends Error {
  constructor(what: string, limit: number) {
    super(`${what} ${limit} times today. Try again tomorrow (UTC).`);
    this.name = 'DailyLimitError';
  }
}
