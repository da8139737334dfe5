import type { CodegenConfig } from '@graphql-codegen/cli';
import { addTypenameSelectionDocumentTransform } from '@graphql-codegen/client-preset';

const config: CodegenConfig = {
  schema: '../../../schema.graphql',
  documents: 'operations/*.graphql',
  generates: {
    'generated/urql/': {
      preset: 'client',
      presetConfig: { persistedDocuments: true },
      // urql's cache needs the names of types. It adds them to texts, but not to what an id stands for.
      documentTransforms: [addTypenameSelectionDocumentTransform],
      config: { useTypeImports: true, importExtension: '.ts' },
    },
  },
};

export default config;
