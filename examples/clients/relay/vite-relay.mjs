import { transformAsync } from '@babel/core';
import babelRelay from 'babel-plugin-relay';

/** Relay's part of a Vite configuration: puts what the compiler has generated in the place of `graphql` texts. */
export function relay() {
  return {
    name: 'relay',
    enforce: 'pre',
    async transform(code, id) {
      const [file] = id.split('?');
      if (!/\.[jt]sx?$/.test(file) || file.includes('/node_modules/') || !code.includes('graphql`'))
        return null;
      return transformAsync(code, {
        filename: file,
        babelrc: false,
        configFile: false,
        sourceMaps: true,
        parserOpts: { plugins: ['typescript', 'jsx'] },
        plugins: [[babelRelay, { eagerEsModules: true }]],
      });
    },
  };
}
