export { defineTypes, schemaOf } from '../../../src/schema/schema.ts';
export { deprecatingSchema as buildSchema } from '../../support/schema/deprecating-schema.ts';
