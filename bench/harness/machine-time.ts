/** A time in milliseconds that all processes of this machine share: the monotonic clock, which nobody sets. */
export const machineMs = (): number => Number(process.hrtime.bigint()) / 1_000_000;
