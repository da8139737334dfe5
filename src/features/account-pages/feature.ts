import type { Feature } from '../feature.ts';
import { expiredLinks, linkExportSections, linkRevocation } from './links.ts';

/** Pages where people manage their account, and links to set a password without a login. */
export const accountPages: Feature = {
  revocations: [linkRevocation],
  exportSections: linkExportSections,
  jobs: () => [expiredLinks],
  server: async () => (await import('./routes.ts')).createAccountPages,
  fields: async () => (await import('./link-fields.ts')).defineLinkFields,
  commands: async () => (await import('./commands.ts')).defineLinkCommands,
};
