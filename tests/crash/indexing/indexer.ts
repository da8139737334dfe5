import {
  createSearchIndexer as createOwn,
  type SearchIndexerOptions,
} from '../../../src/schema/search/indexer.ts';

export const BUCKET_POSTS = 8;

export const createSearchIndexer = (options: SearchIndexerOptions) =>
  createOwn({ ...options, bucketPosts: BUCKET_POSTS });
