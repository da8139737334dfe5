import { it } from 'vitest';
import { useApp } from '../../support/app.ts';
import { expectEventsInOrder } from '../../support/post-event-order.ts';

const app = useApp();

it('Events of a post are in the order of its changes on one instance, however many clients change one post', async () => {
  await expectEventsInOrder(app, [app]);
});
