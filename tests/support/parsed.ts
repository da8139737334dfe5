/** JSON as it was parsed: a test compares the parts it asked for. */
export type Parsed = ReturnType<typeof JSON.parse>;
