import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { admin } from '../support/processes/server.ts';
import { startService } from './live-service.ts';
import { COMMENT, createReactProject, openTabs, type ReactProject, signIn, type Tab } from './react-page.ts';

const live = (tab: Tab) => expect.poll(tab.status).toMatch(/: live$/);
const button = (tab: Tab, title: string, name: string | RegExp) =>
  tab.post(title).getByRole('button', { name });

describe('the page of docs/clients/tanstack.md', () => {
  let project: ReactProject;
  beforeAll(async () => {
    project = await createReactProject();
    project.run('vite build --logLevel error');
  });
  afterAll(() => project.remove());

  it('compiles against the schema', () => {
    project.run('gql.tada check --level error && tsc');
  });

  it('shows in a tab what happens in another, with counts, and asks for nothing that it has', async () => {
    const service = await startService();
    const titles = Array.from({ length: 25 }, (_, number) => `post ${number + 1}`);
    await service.create(...titles);
    const open = await openTabs(service, await project.serve(service));
    const writer = await open();
    await live(writer);
    const reader = await open();
    await live(reader);
    await expect.poll(reader.titles).toContain('post 25');

    // The end of the list brings the next page.
    for (const tab of [reader, writer])
      await expect
        .poll(async () => {
          await tab.page.mouse.wheel(0, 20_000);
          return tab.titles();
        })
        .toEqual(expect.arrayContaining([...titles, 'On loops']));
    expect(await reader.titles()).toEqual([...new Set(await reader.titles())]);

    await button(reader, 'post 25', '0 comments').click();
    await expect.poll(() => reader.asked).toContain('PageComments');
    reader.asked.length = 0;
    const form = writer.page.getByRole('form', { name: 'New post' });
    await form.getByLabel('Title').fill('Written');
    await form.getByLabel('Text').fill('And published.');
    await form.getByRole('button', { name: 'Publish' }).dblclick();
    await expect.poll(async () => (await reader.titles())[0]).toBe('Written');

    await button(writer, 'post 25', '0 comments').click();
    await writer.post('post 25').getByLabel('Comment', { exact: true }).fill('Seen at once');
    await button(writer, 'post 25', 'Send').click();
    for (const tab of [reader, writer]) {
      await button(tab, 'post 25', '1 comment').waitFor();
      await expect
        .poll(() => tab.post('post 25').getByRole('listitem').allInnerTexts())
        .toEqual([expect.stringContaining('Seen at once')]);
    }
    await button(writer, 'post 25', /Delete the comment/).click();
    await button(reader, 'post 25', '0 comments').waitFor();

    await button(writer, 'Written', 'Edit').click();
    const editor = writer.page.getByRole('form', { name: 'Edit Written' });
    await editor.getByLabel('Title').fill('Rewritten');
    await editor.getByRole('button', { name: 'Save' }).click();
    await expect.poll(async () => (await reader.titles())[0]).toBe('Rewritten');
    await button(writer, 'Rewritten', 'Delete').click();
    await expect.poll(async () => (await reader.titles())[0]).toBe('post 25');
    expect(reader.asked).toEqual([]);
  });

  it('loses nothing and sends nothing twice over a server that is killed', async () => {
    const service = await startService();
    await service.create('Discussed');
    const open = await openTabs(service, await project.serve(service));
    const tabs = [await open(), await open()];
    const [first] = tabs;
    if (first === undefined) throw new Error('two tabs have a first');
    for (const tab of tabs) await live(tab);
    await button(first, 'Discussed', '0 comments').click();
    await service.end('SIGKILL');
    await first.post('Discussed').getByLabel('Comment', { exact: true }).fill('Into the dark');
    await button(first, 'Discussed', 'Send').click();
    await first.post('Discussed').getByText('Sending …').waitFor();
    // Folded and opened again, it still has it.
    for (const _ of ['folded', 'opened']) await button(first, 'Discussed', '0 comments').click();
    await first.post('Discussed').getByText('Into the dark').waitFor();
    for (const tab of tabs) await expect.poll(tab.status).toMatch(/: reconnecting$/);
    const late = await open();
    await late.page.getByRole('alert').getByText('Trying again').waitFor();
    await service.start();
    await live(late);
    await service.create('Missed');
    // Ends the pause before the next attempt, which grows to half a minute.
    for (const { page } of tabs) await page.evaluate(() => dispatchEvent(new Event('online')));
    for (const tab of tabs) {
      await expect.poll(async () => (await tab.titles()).slice(0, 2)).toEqual(['Missed', 'Discussed']);
    }
    for (const tab of tabs) await button(tab, 'Discussed', '1 comment').waitFor();
    await expect
      .poll(() => first.post('Discussed').getByRole('listitem').allInnerTexts())
      .toEqual([expect.stringContaining('Into the dark')]);
  });

  it('merges edits of different fields, and asks where both have changed one', async () => {
    const service = await startService();
    const open = await openTabs(service, await project.serve(service));
    const [mine, theirs] = [await open(), await open()];
    for (const tab of [mine, theirs]) await live(tab);
    const draft = mine.page.getByRole('form', { name: 'New post' }).getByLabel('Title');
    await draft.fill('A draft');
    const edit = async (tab: Tab, title: string) => {
      await button(tab, title, 'Edit').click();
      const form = tab.page.getByRole('form', { name: `Edit ${title}` });
      await expect
        .poll(() => form.getByLabel('Title').evaluate((field) => field === document.activeElement))
        .toBe(true);
      return form;
    };
    const [here, there] = [await edit(mine, 'On loops'), await edit(theirs, 'On loops')];
    await here.getByLabel('Title').fill('Loops of mine');
    await there.getByLabel('Text').fill('Their text.');
    await there.getByRole('button', { name: 'Save' }).click();
    await expect.poll(() => here.getByLabel('Text').inputValue()).toBe('Their text.');
    const again = await edit(theirs, 'On loops');
    await again.getByLabel('Title').fill('Loops of theirs');
    await again.getByRole('button', { name: 'Save' }).click();
    await here.getByText('Another user has changed this post').waitFor();
    expect(await here.getByRole('button', { name: 'Save' }).isDisabled()).toBe(true);
    expect(await here.locator('blockquote').innerText()).toBe('Loops of theirs');
    await here.getByRole('button', { name: 'Keep mine' }).click();
    await here.getByRole('button', { name: 'Save' }).click();
    await expect.poll(theirs.titles).toContain('Loops of mine');
    const focused = () => mine.page.evaluate(() => document.activeElement?.getAttribute('aria-label'));
    await expect.poll(focused).toBe('Loops of mine');
    const { data } = await service.query('{ posts(limit: 100) { title body } }');
    expect(data.posts).toContainEqual({ title: 'Loops of mine', body: 'Their text.' });
    expect(await draft.inputValue()).toBe('A draft');
  });

  it('keeps what is typed where the session has ended, and goes on after signing in', async () => {
    const service = await startService();
    const open = await openTabs(service, await project.serve(service));
    const tab = await open();
    await live(tab);
    const form = tab.page.getByRole('form', { name: 'New post' });
    await form.getByLabel('Title').fill('Kept');
    // Another tab of the same browser signs out.
    await tab.page.evaluate(() => fetch('/logout', { method: 'POST' }));
    await tab.page.getByText('Your session has expired.').waitFor();
    await tab.page.getByLabel('E-mail').fill('ada@example.com');
    await tab.page.getByLabel('Password').fill(service.password);
    await tab.page.getByRole('button', { name: 'Sign in' }).click();
    await live(tab);
    expect(await form.getByLabel('Title').inputValue()).toBe('Kept');
  });

  it('is the page of whoever signs in in another tab', async () => {
    const service = await startService();
    const open = await openTabs(service, await project.serve(service));
    const tab = await open();
    await live(tab);
    await tab.page.evaluate(() => fetch('/logout', { method: 'POST' }));
    await tab.page.getByText('Your session has expired.').waitFor();
    await signIn(tab.page, service.password, 'linus@example.com');
    await expect.poll(tab.status).toBe('Linus: live');
    expect(await tab.page.getByRole('alert').count()).toBe(0);
  });

  it('keeps what the stream has told since where a response is a replayed one', async () => {
    const service = await startService();
    await service.create('Discussed');
    const { data } = await service.query('{ posts(limit: 1) { id } }');
    const open = await openTabs(service, await project.serve(service));
    const tab = await open();
    await live(tab);
    await button(tab, 'Discussed', '0 comments').click();
    let isLost = false;
    await tab.page.route('**/graphql', async (route) => {
      if (isLost || !route.request().postData()?.includes('mutation')) return route.continue();
      isLost = true;
      await route.fetch();
      await service.query(COMMENT, { id: data.posts[0].id, body: 'Of another' });
      await button(tab, 'Discussed', '2 comments').waitFor();
      await route.abort();
    });
    const isReplayed = tab.page.waitForResponse(
      (response) => response.headers()['idempotency-replayed'] === 'true',
    );
    await tab.post('Discussed').getByLabel('Comment', { exact: true }).fill('Mine');
    await button(tab, 'Discussed', 'Send').click();
    await isReplayed;
    await expect.poll(() => button(tab, 'Discussed', 'Send').isEnabled()).toBe(true);
    expect(await button(tab, 'Discussed', '2 comments').count()).toBe(1);
    const comments = await tab.post('Discussed').getByRole('listitem').allInnerTexts();
    expect(comments).toEqual([expect.stringContaining('Of another'), expect.stringContaining('Mine')]);
  });

  it('reads again what it does not show where events are gone', async () => {
    const service = await startService();
    await service.create('Discussed');
    const { data } = await service.query('{ posts(limit: 1) { id } }');
    const comment = (body: string) => service.query(COMMENT, { id: data.posts[0].id, body });
    const open = await openTabs(service, await project.serve(service));
    const tab = await open();
    await live(tab);
    const comments = () => tab.post('Discussed').getByRole('listitem').allInnerTexts();
    await comment('one');
    await button(tab, 'Discussed', '1 comment').click();
    await expect.poll(comments).toEqual([expect.stringContaining('one')]);
    await button(tab, 'Discussed', '1 comment').click();
    await service.end('SIGKILL');
    await expect.poll(tab.status).toMatch(/: reconnecting$/);
    await tab.page.context().setOffline(true);
    await admin(['event-log', 'reset'], service.dataDir);
    await service.start();
    await comment('two');
    await tab.page.context().setOffline(false);
    await button(tab, 'Discussed', '2 comments').waitFor();
    await live(tab);
    await comment('three');
    await button(tab, 'Discussed', '3 comments').click();
    await expect.poll(comments).toEqual(['three', 'two', 'one'].map((body) => expect.stringContaining(body)));
  });
});
