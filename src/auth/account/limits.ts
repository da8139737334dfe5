/** The lengths of an account's texts, in Unicode code points (contract section 1). */
export const ACCOUNT_NAME = { min: 1, max: 100 };
export const PASSWORD = { min: 12, max: 200 };
export const MAX_EMAIL_LENGTH = 254;
