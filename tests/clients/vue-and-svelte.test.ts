import { afterAll, beforeAll, it } from 'vitest';
import { startService } from './live-service.ts';
import { checkLivePosts, createReactProject, type ReactProject } from './react-page.ts';

let project: ReactProject;
beforeAll(async () => {
  project = await createReactProject();
  project.run('cp -r ../content-graph-api/examples/live-posts src/');
});
afterAll(() => project.remove());

it.each(['vue', 'svelte'])(
  'the page of docs/clients/%s.md shows each change, and publishes once',
  async (library) => {
    const service = await startService();
    const folder = `src/live-posts/${library}`;
    await project.build(`/${folder}/main.js`, `dist-${library}`, `${folder}/vite.config.ts`);
    const origin = await project.serve(service, `dist-${library}`);
    await checkLivePosts(service, origin, () => service.restart('SIGKILL', 'Missed'));
  },
);
