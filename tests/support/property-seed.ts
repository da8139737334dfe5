/** PROPERTY_SEED makes what properties are tried with the same in every run: a failure of `.ci/run` can be had again. */
const seed = process.env.PROPERTY_SEED;
if (seed !== undefined) {
  const { configureGlobal, readConfigureGlobal } = await import('fast-check');
  configureGlobal({ ...readConfigureGlobal(), seed: Number(seed) });
}
